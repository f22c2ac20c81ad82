package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/api/osm/status"
	"anymesh.dev/anymesh/api/smi/access/v1alpha1"
	"anymesh.dev/anymesh/api/smi/access/v1alpha3"
)

// TrafficTargetSpec is the desired state of a TrafficTarget.
type TrafficTargetSpec struct {
	// Destination is the pods that may be called.
	Destination v1alpha1.Subject `json:"destination"`
	// Rules are the allowed traffic.
	// +optional
	Rules []v1alpha3.Rule `json:"rules,omitempty"`
	// Sources are the pods that may call.
	// +optional
	Sources []v1alpha1.Subject `json:"sources,omitempty"`
}

// TrafficTarget allows pods to call others.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tt,categories=all
type TrafficTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TrafficTargetSpec `json:"spec,omitempty"`

	// Status is the observed state.
	// +optional
	Status status.Status `json:"status,omitzero"`
}
