package v1alpha4

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/api/osm/status"
)

// Backend is a Service with its share.
type Backend struct {
	// Service is the name of a Service in the namespace of the TrafficSplit.
	Service string `json:"service"`
	// Weight is the share of the Service, relative to the other weights: a whole number.
	// +optional
	Weight Weight `json:"weight"`
}

// RouteMatch restricts a TrafficSplit to the requests of an HTTPRouteGroup in its namespace.
type RouteMatch struct {
	// APIGroup is the group of the kind.
	// +optional
	APIGroup *string `json:"apiGroup,omitempty"`
	// Kind is HTTPRouteGroup.
	Kind string `json:"kind"`
	// Name is the name of the HTTPRouteGroup.
	Name string `json:"name"`
}

// TrafficSplitSpec is the desired state of a TrafficSplit.
type TrafficSplitSpec struct {
	// Service is the Service whose traffic is shared.
	Service string `json:"service"`
	// Backends are the Services that get it.
	// +optional
	Backends []Backend `json:"backends,omitempty"`
	// Matches restrict the TrafficSplit to some requests. None means all.
	// +optional
	Matches []RouteMatch `json:"matches,omitempty"`
}

// TrafficSplit shares the traffic of a Service between Services.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=ts,categories=all
type TrafficSplit struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TrafficSplitSpec `json:"spec,omitempty"`

	// Status is the observed state.
	// +optional
	Status status.Status `json:"status,omitzero"`
}

// TrafficSplitList is a list of TrafficSplit.
// +kubebuilder:object:root=true
type TrafficSplitList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TrafficSplit `json:"items"`
}
