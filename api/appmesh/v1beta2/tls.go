package v1beta2

// ListenerTLSMode says whether a listener speaks TLS, plaintext, or either.
// +kubebuilder:validation:Enum=DISABLED;PERMISSIVE;STRICT
type ListenerTLSMode string

// The modes.
const (
	TLSDisabled   ListenerTLSMode = "DISABLED"
	TLSPermissive ListenerTLSMode = "PERMISSIVE"
	TLSStrict     ListenerTLSMode = "STRICT"
)

// ListenerTLSCertificate is what a listener shows its clients: exactly one of the members.
type ListenerTLSCertificate struct {
	// ACM names a certificate of AWS Certificate Manager.
	// +optional
	ACM *ListenerTLSACMCertificate `json:"acm,omitempty"`
	// File names a certificate in the sidecar's file system.
	// +optional
	File *TLSFileCertificate `json:"file,omitempty"`
	// SDS names a certificate served by a secret discovery service.
	// +optional
	SDS *TLSSDSSecret `json:"sds,omitempty"`
}

// ListenerTLSACMCertificate names a certificate of AWS Certificate Manager.
type ListenerTLSACMCertificate struct {
	// CertificateARN is its Amazon Resource Name.
	CertificateARN string `json:"certificateARN"`
}

// TLSFileCertificate is a certificate and its key as files in the sidecar.
type TLSFileCertificate struct {
	// CertificateChain is the path of the PEM chain, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	CertificateChain string `json:"certificateChain"`
	// PrivateKey is the path of the PEM key, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	PrivateKey string `json:"privateKey"`
}

// TLSSDSSecret names a secret of a secret discovery service: a certificate or a trust bundle.
type TLSSDSSecret struct {
	// SecretName is a SPIFFE id for a certificate, a trust domain for a bundle.
	SecretName string `json:"secretName"`
}

// TLSFileTrust is a trust bundle as a file in the sidecar.
type TLSFileTrust struct {
	// CertificateChain is the path of the PEM bundle, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	CertificateChain string `json:"certificateChain"`
}

// TLSACMTrust names authorities of AWS Certificate Manager.
type TLSACMTrust struct {
	// CertificateAuthorityARNs are one to three Amazon Resource Names.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	CertificateAuthorityARNs []string `json:"certificateAuthorityARNs"`
}

// TLSTrust is whom to believe: exactly one of the members.
type TLSTrust struct {
	// ACM names authorities of AWS Certificate Manager.
	// +optional
	ACM *TLSACMTrust `json:"acm,omitempty"`
	// File names a bundle in the sidecar's file system.
	// +optional
	File *TLSFileTrust `json:"file,omitempty"`
	// SDS names a bundle of a secret discovery service.
	// +optional
	SDS *TLSSDSSecret `json:"sds,omitempty"`
}

// TLSValidation says which peer certificates are accepted.
type TLSValidation struct {
	// Trust is whom to believe.
	Trust TLSTrust `json:"trust"`
	// SubjectAlternativeNames that the peer must carry one of.
	// +optional
	SubjectAlternativeNames *SubjectAlternativeNames `json:"subjectAlternativeNames,omitempty"`
}

// SubjectAlternativeNames restricts the names of a peer.
type SubjectAlternativeNames struct {
	// Match is the way names are compared.
	Match SubjectAlternativeNameMatchers `json:"match"`
}

// SubjectAlternativeNameMatchers is a list of accepted names.
type SubjectAlternativeNameMatchers struct {
	// Exact names: DNS names or URIs.
	Exact []string `json:"exact"`
}

// ClientPolicy says how a client talks to its backends.
type ClientPolicy struct {
	// TLS policy; absent leaves the choice to the server's listener.
	// +optional
	TLS *ClientPolicyTLS `json:"tls,omitempty"`
}

// ClientPolicyTLS is TLS as seen from a client.
type ClientPolicyTLS struct {
	// Enforce TLS; absent means true.
	// +optional
	Enforce *bool `json:"enforce,omitempty"`
	// Ports that the policy holds for; none means all.
	// +optional
	Ports []PortNumber `json:"ports,omitempty"`
	// Certificate that the client shows.
	// +optional
	Certificate *ClientTLSCertificate `json:"certificate,omitempty"`
	// Validation of the server.
	Validation TLSValidation `json:"validation"`
}

// ClientTLSCertificate is what a client shows: one of the members.
type ClientTLSCertificate struct {
	// File names a certificate in the sidecar's file system.
	// +optional
	File *TLSFileCertificate `json:"file,omitempty"`
	// SDS names a certificate of a secret discovery service.
	// +optional
	SDS *TLSSDSSecret `json:"sds,omitempty"`
}

// BackendDefaults are the client policies of backends that state none.
type BackendDefaults struct {
	// ClientPolicy for all backends.
	// +optional
	ClientPolicy *ClientPolicy `json:"clientPolicy,omitempty"`
}
