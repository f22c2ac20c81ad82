package v1alpha4

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/api/osm/status"
)

// HTTPMatch is a set of HTTP requests: those that meet all of its conditions.
type HTTPMatch struct {
	// Name is the name by which other objects refer to the match.
	// +optional
	Name string `json:"name,omitempty"`
	// Methods are HTTP methods; * or none means all.
	// +optional
	Methods []string `json:"methods,omitempty"`
	// PathRegex is a regular expression (RE2) for the whole path, without the query. Empty means each path.
	// +optional
	PathRegex string `json:"pathRegex,omitempty"`
	// Headers are regular expressions for the whole values of headers, by name: an object, or a list of objects.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +optional
	Headers Headers `json:"headers,omitzero"`
}

// HTTPRouteGroupSpec is the desired state of an HTTPRouteGroup.
type HTTPRouteGroupSpec struct {
	// Matches are sets of HTTP requests.
	// +optional
	Matches []HTTPMatch `json:"matches,omitempty"`
}

// HTTPRouteGroup names sets of HTTP requests.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=htr,categories=all
type HTTPRouteGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec HTTPRouteGroupSpec `json:"spec,omitempty"`

	// Status is the observed state.
	// +optional
	Status status.Status `json:"status,omitzero"`
}

// HTTPRouteGroupList is a list of HTTPRouteGroup.
// +kubebuilder:object:root=true
type HTTPRouteGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HTTPRouteGroup `json:"items"`
}
