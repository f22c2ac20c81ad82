// Package v1alpha1 has the API types of group search.karmada.io, version v1alpha1: ResourceRegistry, which says which
// kinds of which member clusters are cached.
//
// The types have the JSON names of the released API. An APIService takes the whole group version, so that no
// CustomResourceDefinition can have this group: the aggregator serves ResourceRegistry, and stores it with the
// CustomResourceDefinition of group StorageGroupVersion that is generated from these types.
// +kubebuilder:object:generate=true
// +groupName=aggregate.anymesh.dev
package v1alpha1

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object crd paths=. output:crd:dir=../../aggregatecrds
