package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
)

// Peer is the workload that a verified certificate stands for.
type Peer struct {
	TrustDomain    string
	Namespace      string
	ServiceAccount string
	Pod            string
	PodUID         string
}

// ID is the peer's SPIFFE ID.
func (p Peer) ID() string { return ID(p.TrustDomain, p.Namespace, p.ServiceAccount) }

// PeerFromCertificate reads the identity out of a workload certificate of this
// mesh. The caller must have verified the certificate's chain already, as a TLS
// handshake with client authentication does. Anything that the authority of
// this package would not have written is refused, so that a certificate of
// another kind under the same root never passes as a workload.
func PeerFromCertificate(cert *x509.Certificate) (Peer, error) {
	var none Peer
	if cert == nil {
		return none, errors.New("peer certificate: none was presented")
	}
	if cert.IsCA {
		return none, errors.New("peer certificate: it is an authority's, not a workload's")
	}
	if len(cert.URIs) != 1 {
		return none, fmt.Errorf("peer certificate: it has %d URI names, a workload's has exactly one", len(cert.URIs))
	}
	uri := cert.URIs[0].String()
	p, err := parseID(uri)
	if err != nil {
		return none, fmt.Errorf("peer certificate: %w", err)
	}
	// Three attributes and no repeated one: with two common names, readers disagree on which counts.
	if n := len(cert.Subject.Names); n != 3 || len(cert.Subject.OrganizationalUnit) != 1 {
		return none, fmt.Errorf("peer certificate: subject %q does not name one pod, UID and namespace", cert.Subject)
	}
	p.Pod, p.PodUID = cert.Subject.CommonName, cert.Subject.SerialNumber
	c := Claims{Namespace: p.Namespace, ServiceAccount: p.ServiceAccount, Pod: p.Pod, PodUID: p.PodUID}
	if err := c.check(); err != nil {
		return none, fmt.Errorf("peer certificate: %w", err)
	}
	if ou := cert.Subject.OrganizationalUnit[0]; ou != p.Namespace {
		return none, fmt.Errorf("peer certificate: the pod's namespace %q differs from %q in the SPIFFE ID", ou, p.Namespace)
	}
	return p, nil
}

// parseID accepts only the canonical spelling, so that equal identities are equal strings.
func parseID(id string) (Peer, error) {
	rest, ok := strings.CutPrefix(id, "spiffe://")
	if !ok {
		return Peer{}, fmt.Errorf("URI name %q is not a SPIFFE ID", id)
	}
	parts := strings.Split(rest, "/")
	if len(parts) != 5 || parts[1] != "ns" || parts[3] != "sa" {
		return Peer{}, fmt.Errorf("SPIFFE ID %q does not have the form spiffe://<trust domain>/ns/<namespace>/sa/<service account>", id)
	}
	p := Peer{TrustDomain: parts[0], Namespace: parts[2], ServiceAccount: parts[4]}
	if err := checkTrustDomain(p.TrustDomain); err != nil {
		return Peer{}, fmt.Errorf("SPIFFE ID %q: %w", id, err)
	}
	if err := checkName("namespace", p.Namespace, label, maxLabel); err != nil {
		return Peer{}, fmt.Errorf("SPIFFE ID %q: %w", id, err)
	}
	if err := checkName("service account", p.ServiceAccount, subdomain, maxSubdomain); err != nil {
		return Peer{}, fmt.Errorf("SPIFFE ID %q: %w", id, err)
	}
	return p, nil
}
