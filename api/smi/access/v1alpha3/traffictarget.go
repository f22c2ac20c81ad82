package v1alpha3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/api/osm/status"
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
}

// Rule is traffic that is allowed: that of a route group in the namespace of the TrafficTarget.
type Rule struct {
	// Kind is HTTPRouteGroup or TCPRoute.
	Kind string `json:"kind"`
	// Name is the name of the route group.
	Name string `json:"name"`
	// Matches are the names of matches of an HTTPRouteGroup. None means all.
	// +optional
	Matches []string `json:"matches,omitempty"`
}

// TrafficTargetSpec is the desired state of a TrafficTarget.
type TrafficTargetSpec struct {
	// Destination is the pods that may be called.
	Destination Subject `json:"destination"`
	// Rules are the allowed traffic.
	// +optional
	Rules []Rule `json:"rules,omitempty"`
	// Sources are the pods that may call.
	// +optional
	Sources []Subject `json:"sources,omitempty"`
}

// TrafficTarget allows pods to call others.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=tt,categories=all
type TrafficTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TrafficTargetSpec `json:"spec,omitempty"`

	// Status is the observed state.
	// +optional
	Status status.Status `json:"status,omitzero"`
}

// TrafficTargetList is a list of TrafficTarget.
// +kubebuilder:object:root=true
type TrafficTargetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TrafficTarget `json:"items"`
}
