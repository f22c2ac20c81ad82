package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/api/osm/status"
)

// Backend is a Service with its share.
type Backend struct {
	// Service is the name of a Service in the namespace of the TrafficSplit.
	Service string `json:"service"`
	// Weight is the share of the Service, relative to the other weights, for example 500m.
	// +optional
	Weight resource.Quantity `json:"weight,omitzero"`
}

// TrafficSplitSpec is the desired state of a TrafficSplit.
type TrafficSplitSpec struct {
	// Service is the Service whose traffic is shared.
	Service string `json:"service"`
	// Backends are the Services that get it.
	// +optional
	Backends []Backend `json:"backends,omitempty"`
}

// TrafficSplit shares the traffic of a Service between Services.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ts,categories=all
type TrafficSplit struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TrafficSplitSpec `json:"spec,omitempty"`

	// Status is the observed state.
	// +optional
	Status status.Status `json:"status,omitzero"`
}
