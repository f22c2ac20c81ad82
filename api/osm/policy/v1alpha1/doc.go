// Package v1alpha1 has the API types of group policy.openservicemesh.io, version v1alpha1: Egress, IngressBackend,
// Retry and UpstreamTrafficSetting.
//
// In: nothing. Out: Go types with the JSON names of the released API. They set no defaults.
//
// The CustomResourceDefinitions in api/crds are generated from these types.
// +kubebuilder:object:generate=true
// +groupName=policy.openservicemesh.io
package v1alpha1

//go:generate go tool -modfile=../../../../tools/go.mod controller-gen object crd paths=. output:crd:dir=../../../crds
