// Package v1 has the API types of group l7mp.io, version v1: VirtualService, Route and Target.
//
// In: nothing. Out: Go types with the JSON names of the published API, and the other spellings that its releases and
// its documentation used. They set no defaults. Where a field takes a name or an object, or an object with one of
// several keys, it has the JSON value; the dialect reads it.
//
// The CustomResourceDefinitions in api/crds are generated from these types.
// +kubebuilder:object:generate=true
// +groupName=l7mp.io
package v1

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object crd paths=. output:crd:dir=../../crds
