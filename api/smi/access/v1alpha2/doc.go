// Package v1alpha2 has the API types of group access.smi-spec.io, version v1alpha2: TrafficTarget.
//
// In: nothing. Out: Go types with the JSON names of the released API. They set no defaults.
//
// The CustomResourceDefinitions in api/crds are generated from the types of all versions.
// +kubebuilder:object:generate=true
// +groupName=access.smi-spec.io
package v1alpha2
