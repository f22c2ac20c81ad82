// Package v1alpha1 has the API types of group specs.smi-spec.io, version v1alpha1: HTTPRouteGroup and TCPRoute.
//
// In: nothing. Out: Go types with the JSON names of the released API. They set no defaults.
//
// The CustomResourceDefinitions in api/crds are generated from the types of all versions.
// +kubebuilder:object:generate=true
// +groupName=specs.smi-spec.io
package v1alpha1
