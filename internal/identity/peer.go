package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
)

// Peer is the workload that a verified certificate identifies.
type Peer struct {
	TrustDomain    string
	Namespace      string
	ServiceAccount string
	Pod            string
	PodUID         string
}

// ID returns the SPIFFE ID of the peer.
func (p Peer) ID() string { return ID(p.TrustDomain, p.Namespace, p.ServiceAccount) }

// PeerFromCertificate returns the identity in a workload certificate of this mesh. The caller must have verified the
// chain of the certificate, for example by a TLS handshake with client authentication. Any certificate that Sign
// would not have issued is rejected, so that another kind of certificate of the same root does not identify a
// workload.
func PeerFromCertificate(cert *x509.Certificate) (Peer, error) {
	var none Peer
	if cert == nil {
		return none, errors.New("peer certificate: missing")
	}
	if cert.IsCA {
		return none, errors.New("peer certificate: is a CA certificate, not a workload's")
	}
	if len(cert.URIs) != 1 {
		return none, fmt.Errorf("peer certificate: it has %d URI names, a workload's has exactly one", len(cert.URIs))
	}
	uri := cert.URIs[0].String()
	p, err := parseID(uri)
	if err != nil {
		return none, fmt.Errorf("peer certificate: %w", err)
	}
	// Exactly three attributes, none repeated: readers disagree about repeated common names.
	if n := len(cert.Subject.Names); n != 3 || len(cert.Subject.OrganizationalUnit) != 1 {
		return none, fmt.Errorf("peer certificate: subject %q does not name one pod, UID and namespace", cert.Subject)
	}
	p.Pod, p.PodUID = cert.Subject.CommonName, cert.Subject.SerialNumber
	c := Claims{Namespace: p.Namespace, ServiceAccount: p.ServiceAccount, Pod: p.Pod, PodUID: p.PodUID}
	if err := c.check(); err != nil {
		return none, fmt.Errorf("peer certificate: %w", err)
	}
	if ou := cert.Subject.OrganizationalUnit[0]; ou != p.Namespace {
		return none, fmt.Errorf("peer certificate: the pod's namespace %q differs from %q in the SPIFFE ID", ou,
			p.Namespace)
	}
	return p, nil
}

// parseID accepts only the canonical form, so that equal identities are equal strings.
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
	if err := checkName("namespace", p.Namespace, dnsLabel, maxLabel); err != nil {
		return Peer{}, fmt.Errorf("SPIFFE ID %q: %w", id, err)
	}
	if err := checkName("service account", p.ServiceAccount, dnsSubdomain, maxSubdomain); err != nil {
		return Peer{}, fmt.Errorf("SPIFFE ID %q: %w", id, err)
	}
	return p, nil
}
