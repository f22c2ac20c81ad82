package v1beta2

// ListenerTLSMode is the TLS mode of a listener: TLS, plaintext, or either.
// +kubebuilder:validation:Enum=DISABLED;PERMISSIVE;STRICT
type ListenerTLSMode string

// TLS modes of a listener.
const (
	TLSDisabled   ListenerTLSMode = "DISABLED"
	TLSPermissive ListenerTLSMode = "PERMISSIVE"
	TLSStrict     ListenerTLSMode = "STRICT"
)

// ListenerTLSCertificate is the server certificate of a listener. Exactly one field is required.
type ListenerTLSCertificate struct {
	// ACM is a certificate of AWS Certificate Manager.
	// +optional
	ACM *ListenerTLSACMCertificate `json:"acm,omitempty"`
	// File is a certificate in the file system of the sidecar.
	// +optional
	File *TLSFileCertificate `json:"file,omitempty"`
	// SDS is a certificate of a secret discovery service.
	// +optional
	SDS *TLSSDSSecret `json:"sds,omitempty"`
}

// ListenerTLSACMCertificate names a certificate of AWS Certificate Manager.
type ListenerTLSACMCertificate struct {
	// CertificateARN is the Amazon Resource Name of the certificate.
	CertificateARN string `json:"certificateARN"`
}

// TLSFileCertificate is a certificate and its key in files of the sidecar.
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
	// SecretName is the SPIFFE ID of a certificate, or the trust domain of a bundle.
	SecretName string `json:"secretName"`
}

// TLSFileTrust is a trust bundle in a file of the sidecar.
type TLSFileTrust struct {
	// CertificateChain is the path of the PEM bundle, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	CertificateChain string `json:"certificateChain"`
}

// TLSACMTrust names certificate authorities of AWS Certificate Manager.
type TLSACMTrust struct {
	// CertificateAuthorityARNs are 1 to 3 Amazon Resource Names.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	CertificateAuthorityARNs []string `json:"certificateAuthorityARNs"`
}

// TLSTrust is a trust bundle. Exactly one field is required.
type TLSTrust struct {
	// ACM names certificate authorities of AWS Certificate Manager.
	// +optional
	ACM *TLSACMTrust `json:"acm,omitempty"`
	// File is a trust bundle in the file system of the sidecar.
	// +optional
	File *TLSFileTrust `json:"file,omitempty"`
	// SDS is a trust bundle of a secret discovery service.
	// +optional
	SDS *TLSSDSSecret `json:"sds,omitempty"`
}

// TLSValidation configures the validation of peer certificates.
type TLSValidation struct {
	// Trust is the trust bundle.
	Trust TLSTrust `json:"trust"`
	// SubjectAlternativeNames are the accepted names. The peer certificate must have one of them.
	// +optional
	SubjectAlternativeNames *SubjectAlternativeNames `json:"subjectAlternativeNames,omitempty"`
}

// SubjectAlternativeNames restricts the names of peer certificates.
type SubjectAlternativeNames struct {
	// Match has the accepted names.
	Match SubjectAlternativeNameMatchers `json:"match"`
}

// SubjectAlternativeNameMatchers is a list of accepted names.
type SubjectAlternativeNameMatchers struct {
	// Exact lists DNS names or URIs.
	Exact []string `json:"exact"`
}

// ClientPolicy configures the connections of a client to its backends.
type ClientPolicy struct {
	// TLS is the TLS configuration. If it is absent, the server decides whether TLS is used.
	// +optional
	TLS *ClientPolicyTLS `json:"tls,omitempty"`
}

// ClientPolicyTLS is the TLS configuration of a client.
type ClientPolicyTLS struct {
	// Enforce requires TLS. The default is true.
	// +optional
	Enforce *bool `json:"enforce,omitempty"`
	// Ports to which the policy applies. The default is all ports.
	// +optional
	Ports []PortNumber `json:"ports,omitempty"`
	// Certificate is the client certificate.
	// +optional
	Certificate *ClientTLSCertificate `json:"certificate,omitempty"`
	// Validation configures the validation of the server certificate.
	Validation TLSValidation `json:"validation"`
}

// ClientTLSCertificate is the client certificate. Only one field may be set.
type ClientTLSCertificate struct {
	// File is a certificate in the file system of the sidecar.
	// +optional
	File *TLSFileCertificate `json:"file,omitempty"`
	// SDS is a certificate of a secret discovery service.
	// +optional
	SDS *TLSSDSSecret `json:"sds,omitempty"`
}

// BackendDefaults are the defaults for backends without a client policy.
type BackendDefaults struct {
	// ClientPolicy is the client policy.
	// +optional
	ClientPolicy *ClientPolicy `json:"clientPolicy,omitempty"`
}
