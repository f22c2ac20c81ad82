// Package v1alpha1 has the API types of group cluster.karmada.io, version v1alpha1: Cluster, a member cluster.
//
// The types have the JSON names and the value sets of the released API. They set no defaults.
//
// The CustomResourceDefinition in api/aggregatecrds is generated from these types.
// +kubebuilder:object:generate=true
// +groupName=cluster.karmada.io
package v1alpha1

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object crd paths=. output:crd:dir=../../aggregatecrds
