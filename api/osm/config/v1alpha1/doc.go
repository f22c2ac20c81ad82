// Package v1alpha1 has the API types of group config.openservicemesh.io, version v1alpha1: MeshConfig.
//
// In: nothing. Out: Go types with the JSON names of the released API. They set no defaults.
//
// All versions have the settings of v1alpha2, and keep those that they do not know.
//
// The CustomResourceDefinitions in api/crds are generated from the types of all versions.
// +kubebuilder:object:generate=true
// +groupName=config.openservicemesh.io
package v1alpha1
