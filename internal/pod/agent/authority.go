package agent

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/sidecar"
)

// keepPushed is how long the roots that the control plane sent stay trusted if a certificate comes with others: a
// replica may read the authority a minute late.
const keepPushed = 5 * time.Minute

// authority is what the control plane has sent of the authority of the mesh.
type authority struct {
	mu       sync.Mutex // of the certificate files, too
	name     string     // of the resource
	version  string     // empty before the first one
	signer   *x509.Certificate
	roots    *identity.Bundle
	received time.Time
	// changed has a value if the signer may be another one.
	changed chan struct{}
}

// versions returns the resource that the agent has, as a first request names it.
func (a *authority) versions() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.version == "" {
		return nil
	}
	return map[string]string{a.name: a.version}
}

// signed reports whether the current signer has issued a certificate, or is not known.
func (a *authority) signed(issued *identity.Issued) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	block, _ := pem.Decode(issued.CertificatePEM)
	if a.signer == nil || block == nil {
		return true
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	return err != nil || leaf.CheckSignatureFrom(a.signer) == nil
}

// with adds the roots that were received lately. It requires the lock.
func (a *authority) with(roots []byte) []byte {
	found, err := identity.ParseBundle(roots)
	if err != nil || a.roots == nil || time.Since(a.received) > keepPushed {
		return roots
	}
	return found.Union(a.roots).PEM()
}

// subscribeToAuthority subscribes to the authority of the mesh.
func (n *names) subscribeToAuthority(s nameStream) error {
	return s.Send(&discoveryv3.DeltaDiscoveryRequest{
		Node: agentNode, TypeUrl: sidecar.AuthorityType, ResourceNamesSubscribe: []string{"*"},
		InitialResourceVersions: n.authority.versions(),
	})
}

// receiveAuthority answers a response with the authority. The acknowledgement means that the sidecar trusts its roots:
// they are in the files then.
func (n *names) receiveAuthority(s nameStream, r *discoveryv3.DeltaDiscoveryResponse) error {
	answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}
	for _, resource := range r.GetResources() {
		if err := n.setAuthority(resource); err != nil {
			n.Logger.Error("the authority of the mesh cannot be used", "error", err)
			answer.ErrorDetail = &status.Status{Code: int32(codes.InvalidArgument), Message: err.Error()}
		}
	}
	return s.Send(answer)
}

// setAuthority adds the roots of the authority to those in the file. Roots are removed with the next certificate.
func (a *agent) setAuthority(r *discoveryv3.Resource) error {
	signer, roots, err := decodeAuthority(r)
	if err != nil {
		return err
	}
	a.authority.mu.Lock()
	defer a.authority.mu.Unlock()
	if err := a.trust(roots); err != nil {
		return err
	}
	a.authority.name, a.authority.version = r.GetName(), r.GetVersion()
	a.authority.signer, a.authority.roots, a.authority.received = signer, roots, time.Now()
	select {
	case a.authority.changed <- struct{}{}:
	default:
	}
	return nil
}

// trust adds roots to the file of the trust bundle. It requires the lock of the authority.
func (a *agent) trust(roots *identity.Bundle) error {
	files := map[string][]byte{"tls.crt": nil, "tls.key": nil, rootsFile: nil}
	for name := range files {
		text, err := os.ReadFile(filepath.Join(a.CertDir, name))
		if err != nil {
			return err
		}
		files[name] = text
	}
	now, err := identity.ParseBundle(files[rootsFile])
	if err != nil {
		return err
	}
	all := now.Union(roots)
	if len(all.Roots()) == len(now.Roots()) {
		return nil
	}
	files[rootsFile] = all.PEM()
	if err := writeFiles(a.CertDir, files, a.readers()); err != nil {
		return err
	}
	a.Logger.Info("new roots are trusted", "roots", len(all.Roots()))
	return nil
}

func decodeAuthority(r *discoveryv3.Resource) (*x509.Certificate, *identity.Bundle, error) {
	var c tlsv3.CommonTlsContext
	if err := proto.Unmarshal(r.GetResource().GetValue(), &c); err != nil {
		return nil, nil, err
	}
	if len(c.GetTlsCertificates()) != 1 {
		return nil, nil, fmt.Errorf("it has %d chains of certificates that sign, and not one", len(c.GetTlsCertificates()))
	}
	inline := func(s *corev3.DataSource) []byte { return s.GetInlineBytes() }
	signer, err := identity.ParseBundle(inline(c.GetTlsCertificates()[0].GetCertificateChain()))
	if err != nil {
		return nil, nil, fmt.Errorf("the certificate that signs is invalid: %w", err)
	}
	if len(signer.Roots()) != 1 {
		return nil, nil, fmt.Errorf("it has %d certificates that sign, and not one", len(signer.Roots()))
	}
	roots, err := identity.ParseBundle(inline(c.GetValidationContext().GetTrustedCa()))
	return signer.Roots()[0], roots, err
}

// writeCertificate writes the files of a certificate. It may be from a replica that does not know the last roots yet.
func (a *agent) writeCertificate(issued *identity.Issued, keyPEM []byte) error {
	a.authority.mu.Lock()
	defer a.authority.mu.Unlock()
	return writeFiles(a.CertDir, map[string][]byte{
		"tls.crt": issued.CertificatePEM, "tls.key": keyPEM, rootsFile: a.authority.with(issued.RootsPEM),
	}, a.readers())
}

// awaitRenewal waits until the context ends, a time is reached, or the authority has changed. It reports what happened.
func (a *agent) awaitRenewal(ctx context.Context, at time.Time) (due, ended bool) {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, true
	case <-a.authority.changed:
		return false, false
	case <-timer.C:
		return true, false
	}
}
