// Package controller keeps the objects of Routes, and of other kinds whose objects are planned by a pure function.
//
// In: the objects of the cluster, by informers that run while an object refers to their kind. Out: Services, objects of
// providers and statuses, written by server-side apply where they differ from the cluster; events. A change evaluates
// only the objects whose plan read what changed.
package controller
