// Package unserved has kinds of Open Service Mesh, osm-edge and SMI that have no effect, and that a cluster may have
// from there. The control plane does not install their CustomResourceDefinitions: others still develop some of them.
//
// In: nothing. Out: Go types with the metadata of the objects. Specs and statuses are not read.
// +kubebuilder:object:generate=true
package unserved

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object paths=.
