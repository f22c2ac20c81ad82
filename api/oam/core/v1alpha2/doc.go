// Package v1alpha2 has the API types of group core.oam.dev, version v1alpha2, that Routes need: WorkloadDefinition,
// TraitDefinition, Component, ApplicationConfiguration and ContainerizedWorkload.
//
// In: nothing. Out: Go types with the JSON names and value sets of the released API. They set no defaults.
//
// The CustomResourceDefinitions in api/crds are generated from these types.
// +kubebuilder:object:generate=true
// +groupName=core.oam.dev
package v1alpha2

//go:generate go tool -modfile=../../../../tools/go.mod controller-gen object crd paths=. output:crd:dir=../../../crds
