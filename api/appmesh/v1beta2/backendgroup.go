package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BackendGroupSpec is the desired state of a BackendGroup.
type BackendGroupSpec struct {
	// VirtualServices are the members of the group. The name "*" selects all VirtualServices of a namespace. The JSON
	// name is lower case.
	// +optional
	VirtualServices []VirtualServiceReference `json:"virtualservices,omitempty"`
	// MeshRef is the Mesh of the object. Admission sets it; users must not.
	// +optional
	MeshRef *MeshReference `json:"meshRef,omitempty"`
}

// BackendGroupStatus is empty.
type BackendGroupStatus struct{}

// BackendGroup is a named set of VirtualServices that VirtualNodes use as backends.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=all
// +kubebuilder:pruning:PreserveUnknownFields
type BackendGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BackendGroupSpec   `json:"spec,omitempty"`
	Status BackendGroupStatus `json:"status,omitempty"`
}

// BackendGroupList is a list of BackendGroup.
// +kubebuilder:object:root=true
type BackendGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BackendGroup `json:"items"`
}
