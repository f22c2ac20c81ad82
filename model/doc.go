// Package model defines the mesh independently of the API in which users describe it.
//
// In: values that dialects create from objects. Out: the Model in canonical order with a content hash
// for every item, the View of each workload, the Features that a view uses, and the Decision
// of the interpreter for a request. Everything here is a pure function of its arguments, and the
// package imports nothing but the standard library: no Kubernetes types and no proxy types.
//
// The interpreter (View.Decide) is the specification of the mesh: dialects are tested through it and drivers
// are tested against it.
package model
