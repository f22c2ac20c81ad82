// Package route plans the objects of a Route.
//
// In: a Route, and a snapshot of the objects that discovery, providers and certificates read. Out: its Service, its
// certificate, the objects of its provider, and its status. It is a pure function.
package route
