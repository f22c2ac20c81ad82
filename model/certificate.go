package model

import "strings"

// Certificate names a certificate and its private key: two files, or a secret. The control plane reads neither.
type Certificate struct {
	// ChainFile and KeyFile are PEM files in the file system of the sidecar.
	ChainFile string `json:"chainFile,omitempty"`
	KeyFile   string `json:"keyFile,omitempty"`
	// Secret is in place of files. Its name is the SPIFFE ID in the certificate. Of ProviderMesh, the ID of a trust domain
	// is in place of the IDs of all workloads of the mesh, so that they can share a destination: each presents its own.
	Secret Secret `json:"secret,omitzero"`
}

// Validation is what the certificate of a peer must satisfy.
type Validation struct {
	// TrustFile is a PEM file in the file system of the sidecar, with the certificates of trusted authorities.
	TrustFile string `json:"trustFile,omitempty"`
	// TrustSecret is in place of a file. Its name is the ID of a trust domain. If there is neither, no certificate is
	// accepted.
	TrustSecret Secret `json:"trustSecret,omitzero"`
	// Names are subject alternative names, of which the certificate must have one: DNS names, and URIs such as SPIFFE
	// IDs. Without any, each name is accepted.
	Names []string `json:"names,omitempty"`
}

// SecretProvider is what gives a secret to the sidecar.
type SecretProvider string

const (
	// ProviderMesh is the authority of the mesh: the secret is the identity of the pod, or the trust bundle of the mesh.
	ProviderMesh SecretProvider = "Mesh"
	// ProviderSocket is a server of the secret discovery service on a socket of the node.
	ProviderSocket SecretProvider = "Socket"
	// ProviderKubernetes is a Secret of Kubernetes with tls.crt and tls.key, which the agent of the pod reads. Its name
	// is NAMESPACE/NAME.
	ProviderKubernetes SecretProvider = "Kubernetes"
)

// Secret is a certificate or a trust bundle that the sidecar gets from a provider. The zero value is none.
type Secret struct {
	Provider SecretProvider `json:"provider"`
	Name     string         `json:"name"`
}

// Trust returns what identifies the trusted authorities: the file or the name of the secret, or "" if there are none.
func (v *Validation) Trust() string {
	if v.TrustSecret.Name != "" {
		return v.TrustSecret.Name
	}
	return v.TrustFile
}

// spiffeScheme is the prefix of SPIFFE IDs.
const spiffeScheme = "spiffe://"

// TrustDomainID returns the ID of the trust domain of a SPIFFE ID. It reports false for other names.
func TrustDomainID(id string) (string, bool) {
	rest, ok := strings.CutPrefix(id, spiffeScheme)
	domain, _, _ := strings.Cut(rest, "/")
	return spiffeScheme + domain, ok && domain != ""
}

// Content returns what is in the certificate of a secret whose name is a SPIFFE ID: an authority of its trust domain
// issues it. Of other certificates nothing is known.
func (s Secret) Content() Handshake {
	domain, ok := TrustDomainID(s.Name)
	if !ok {
		return Handshake{}
	}
	return Handshake{Authority: domain, Names: []string{s.Name}}
}
