// Package v1alpha2 has the API types of group config.openservicemesh.io, version v1alpha2: MeshConfig.
//
// In: nothing. Out: Go types with the JSON names of the released API. They set no defaults.
//
// The CustomResourceDefinitions in api/crds are generated from the types of all versions.
// +kubebuilder:object:generate=true
// +groupName=config.openservicemesh.io
package v1alpha2

//go:generate go tool -modfile=../../../../tools/go.mod controller-gen object crd paths=../... output:crd:dir=../../../crds
