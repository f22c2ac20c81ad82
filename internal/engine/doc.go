// Package engine keeps the mesh that objects mean current.
//
// In: objects as they come, change and go (Set, Delete), in any order. Out: changes, each naming the views, destinations, pods and
// findings that are not what they were (Sink), and the mesh itself (View, ResolvedDestination, WorkloadOf, State). A change costs what it touches.
// The first one is acted on at once, and those that come meanwhile are taken together into the next: there is no fixed delay.
//
// The flow knows no Kubernetes client; Watch connects one.
package engine
