// Package v1alpha4 has the API type of group split.smi-spec.io, version v1alpha4: TrafficSplit.
//
// In: nothing. Out: a Go type with the JSON names of the released API. It sets no defaults.
//
// The CustomResourceDefinition in api/crds is generated from the types of all versions.
// +kubebuilder:object:generate=true
// +groupName=split.smi-spec.io
package v1alpha4

//go:generate go tool -modfile=../../../../tools/go.mod controller-gen object crd paths=../... output:crd:dir=../../../crds
