// Package v1alpha4 has the API types of group specs.smi-spec.io, version v1alpha4: HTTPRouteGroup and TCPRoute.
//
// In: nothing. Out: Go types with the JSON names of the released API. They set no defaults.
//
// The CustomResourceDefinitions in api/crds are generated from the types of all versions.
// +kubebuilder:object:generate=true
// +groupName=specs.smi-spec.io
package v1alpha4

//go:generate go tool -modfile=../../../../tools/go.mod controller-gen object crd paths=../... output:crd:dir=../../../crds
