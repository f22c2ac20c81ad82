// Package model is the mesh that users' objects mean, whatever API they were written in.
//
// In: plain values that dialects make out of objects. Out: the Model in canonical order with a content hash
// for every item, the View that one workload needs of it, the Features that a view uses, and the Decision
// that the interpreter takes for a request. Everything here is a pure function of its arguments, and the
// package imports nothing but the standard library: no Kubernetes type and no proxy type ever gets in.
//
// The interpreter (View.Decide) is the specification of the mesh: dialects are tested through it and drivers
// are tested against it.
package model
