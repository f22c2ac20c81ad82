package v1alpha2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/api/osm/status"
)

// MeshRootCertificateSpec is an issuer of the certificates of the mesh.
type MeshRootCertificateSpec struct {
	// Provider has one of tresor, vault and certManager.
	// +optional
	Provider map[string]apiextensionsv1.JSON `json:"provider,omitempty"`
	// TrustDomain is the trust domain of the identities.
	// +optional
	TrustDomain string `json:"trustDomain,omitempty"`
	// Role is active, passive or inactive.
	// +optional
	Role string `json:"role,omitempty"`
	// SpiffeEnabled adds SPIFFE IDs to certificates.
	// +optional
	SpiffeEnabled bool `json:"spiffeEnabled,omitempty"`
}

// MeshRootCertificate is an issuer of the certificates of the mesh, with its role in a rotation.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=mrc,categories=all
type MeshRootCertificate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec MeshRootCertificateSpec `json:"spec,omitempty"`

	// Status is the observed state.
	// +optional
	Status status.Status `json:"status,omitzero"`
}

// MeshRootCertificateList is a list of MeshRootCertificate.
// +kubebuilder:object:root=true
type MeshRootCertificateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MeshRootCertificate `json:"items"`
}
