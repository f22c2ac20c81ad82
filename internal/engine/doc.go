// Package engine translates objects into the mesh and keeps it up to date.
//
// In: events about added, updated and deleted objects (Set, Delete), in any order. Out: changes, each with the views,
// outbound views, destinations, pods and findings that changed (Sink), and the current mesh (View, OutboundView,
// ResolvedDestination, WorkloadOf, State). The cost of a change depends on what it affects, not on the size of the
// mesh. The engine processes the first event immediately. Events that arrive during a sync are coalesced into the next
// one: there is no fixed delay.
//
// The engine does not depend on a Kubernetes client; Watch connects an informer cache. Of pods, which are most objects
// of a cluster, the informer cache and the engine hold only a part (Pod).
package engine
