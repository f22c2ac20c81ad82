// Package v1alpha2 has the API type of group split.smi-spec.io, version v1alpha2: TrafficSplit.
//
// In: nothing. Out: a Go type with the JSON names of the released API. It sets no defaults.
//
// All versions have the fields of v1alpha4, so that a client of this version which keeps the fields that it does not
// know keeps matches.
//
// The CustomResourceDefinition in api/crds is generated from the types of all versions.
// +kubebuilder:object:generate=true
// +groupName=split.smi-spec.io
package v1alpha2
