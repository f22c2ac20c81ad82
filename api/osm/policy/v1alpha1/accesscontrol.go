package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AccessControl allows clients outside of the mesh to call Services, as IngressBackend does. It is of osm-edge.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=accesscontrol,categories=all
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.currentStatus`
type AccessControl struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   IngressBackendSpec `json:"spec,omitempty"`
	Status PolicyStatus       `json:"status,omitzero"`
}

// AccessControlList is a list of AccessControl.
// +kubebuilder:object:root=true
type AccessControlList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AccessControl `json:"items"`
}
