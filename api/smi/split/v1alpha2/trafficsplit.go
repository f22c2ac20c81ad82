package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/api/osm/status"
	"anymesh.dev/anymesh/api/smi/split/v1alpha4"
)

// TrafficSplit shares the traffic of a Service between Services.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ts,categories=all
type TrafficSplit struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec v1alpha4.TrafficSplitSpec `json:"spec,omitempty"`

	// Status is the observed state.
	// +optional
	Status status.Status `json:"status,omitzero"`
}
