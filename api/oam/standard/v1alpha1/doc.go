// Package v1alpha1 has the API types of group standard.oam.dev, version v1alpha1: Route, and the workload
// PodSpecWorkload.
//
// In: nothing. Out: Go types with the JSON names of the released API. The only default is that of tls.type.
//
// The CustomResourceDefinitions in api/crds are generated from these types.
// +kubebuilder:object:generate=true
// +groupName=standard.oam.dev
package v1alpha1

//go:generate go tool -modfile=../../../../tools/go.mod controller-gen object crd paths=. output:crd:dir=../../../crds
