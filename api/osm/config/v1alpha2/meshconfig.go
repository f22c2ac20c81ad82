package v1alpha2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/api/osm/status"
)

// MeshConfigSpec has the settings of the mesh by area and name. It keeps the settings that this program does not know.
// +kubebuilder:pruning:PreserveUnknownFields
// +kubebuilder:validation:Type=object
type MeshConfigSpec map[string]map[string]apiextensionsv1.JSON

// MeshConfig has the settings of the mesh.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:categories=all
type MeshConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec MeshConfigSpec `json:"spec,omitempty"`

	// Status is the observed state.
	// +optional
	Status status.Status `json:"status,omitzero"`
}

// MeshConfigList is a list of MeshConfig.
// +kubebuilder:object:root=true
type MeshConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MeshConfig `json:"items"`
}
