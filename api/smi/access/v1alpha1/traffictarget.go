package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"anymesh.dev/anymesh/api/osm/status"
	"anymesh.dev/anymesh/api/smi/access/v1alpha3"
)

// Subject is a set of pods: those of a ServiceAccount.
type Subject struct {
	// Kind is ServiceAccount.
	Kind string `json:"kind"`
	// Name is the name of the ServiceAccount.
	Name string `json:"name"`
	// Namespace is the namespace of the ServiceAccount.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Port is the only port of the pods that may be called.
	// +optional
	Port *intstr.IntOrString `json:"port,omitempty"`
}

// TrafficTarget allows pods to call others.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tt,categories=all
type TrafficTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Destination is the pods that may be called.
	// +optional
	Destination Subject `json:"destination,omitzero"`
	// Specs are the allowed traffic.
	// +optional
	Specs []v1alpha3.Rule `json:"specs,omitempty"`
	// Sources are the pods that may call.
	// +optional
	Sources []Subject `json:"sources,omitempty"`

	// Status is the observed state.
	// +optional
	Status status.Status `json:"status,omitzero"`
}
