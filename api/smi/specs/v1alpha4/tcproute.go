package v1alpha4

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/api/osm/status"
)

// TCPMatch is a set of TCP connections.
type TCPMatch struct {
	// Name is the name of the match.
	// +optional
	Name string `json:"name,omitempty"`
	// Ports are ports of pods. None means all.
	// +optional
	Ports []int `json:"ports,omitempty"`
}

// TCPRouteSpec is the desired state of a TCPRoute.
type TCPRouteSpec struct {
	// Matches is the set of connections.
	// +optional
	Matches TCPMatch `json:"matches,omitempty"`
}

// TCPRoute names a set of TCP connections.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=tr,categories=all
type TCPRoute struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TCPRouteSpec `json:"spec,omitempty"`

	// Status is the observed state.
	// +optional
	Status status.Status `json:"status,omitzero"`
}

// TCPRouteList is a list of TCPRoute.
// +kubebuilder:object:root=true
type TCPRouteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TCPRoute `json:"items"`
}
