// Package flow keeps the model and the views current.
//
// In: objects as they come, change and go (Set, Delete), in any order. Out: states, each the result of all objects known at its
// time, handed to sinks one at a time. Nothing is recomputed while nothing changes, the first change is acted on at once, and
// changes that come while a state is being made are taken together into the next: there is no fixed delay.
//
// The flow knows no Kubernetes client; Watch connects one.
package flow
