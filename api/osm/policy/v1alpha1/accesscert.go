package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SecretReference names a Secret.
type SecretReference struct {
	// Name is the name of the Secret.
	Name string `json:"name"`
	// Namespace is the namespace of the Secret.
	Namespace string `json:"namespace"`
}

// AccessCertSpec is the desired state of an AccessCert.
type AccessCertSpec struct {
	// SubjectAltNames are the names in the certificate.
	SubjectAltNames []string `json:"subjectAltNames"`
	// Secret is where the certificate is written.
	Secret SecretReference `json:"secret"`
	// Matches are references to objects.
	// +optional
	Matches []LocalReference `json:"matches,omitempty"`
}

// AccessCert asks for a certificate of the mesh for a client outside of it. It is of osm-edge, and has no effect.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=acct,categories=all
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.currentStatus`
type AccessCert struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AccessCertSpec `json:"spec,omitempty"`
	Status PolicyStatus   `json:"status,omitzero"`
}

// AccessCertList is a list of AccessCert.
// +kubebuilder:object:root=true
type AccessCertList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AccessCert `json:"items"`
}
