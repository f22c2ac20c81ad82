// Package object holds the rules, rule lists, routes and clusters of a running proxy.
//
// In: checked configuration objects, in any order. Out: the route of a session. References are by name and are resolved
// for each session, so that an object may be named before it exists and replaced while it is used. A change is applied
// completely or not at all.
package object
