package agent

import (
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/sidecar"
)

// authorityResponse is the authority of the mesh as the control plane sends it.
func authorityResponse(t *testing.T, nonce string, signer, roots []byte) *discoveryv3.DeltaDiscoveryResponse {
	t.Helper()
	inline := func(text []byte) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: text}}
	}
	body, err := anypb.New(&tlsv3.CommonTlsContext{
		TlsCertificates: []*tlsv3.TlsCertificate{{CertificateChain: inline(signer)}},
		ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{
			ValidationContext: &tlsv3.CertificateValidationContext{TrustedCa: inline(roots)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &discoveryv3.DeltaDiscoveryResponse{TypeUrl: sidecar.AuthorityType, Nonce: nonce,
		Resources: []*discoveryv3.Resource{{Name: "mesh", Version: "v" + nonce, Resource: body}}}
}

// trusted returns the trust bundle of a pod, which belongs to a valid certificate.
func (p *testPod) trusted(t *testing.T) *identity.Bundle {
	t.Helper()
	if _, err := tls.LoadX509KeyPair(p.certs+"/tls.crt", p.certs+"/tls.key"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(p.certs, rootsFile))
	if err != nil {
		t.Fatal(err)
	}
	b, err := identity.ParseBundle(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// signedBy reports whether a CA has issued the certificate of the pod.
func (p *testPod) signedBy(t *testing.T, ca *identity.CA) bool {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(p.certs+"/tls.crt", p.certs+"/tls.key")
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf.CheckSignatureFrom(ca.Bundle().Roots()[0]) == nil
}

// A new root that the control plane sends is trusted when it is acknowledged, and stays if a replica does not know it
// yet. The certificate is renewed when it signs. An agent without a DNS server does this, too.
func TestNewRootIsTrustedAtOnce(t *testing.T) {
	for name, dns := range map[string]bool{"with DNS server": true, "without": false} {
		t.Run(name, func(t *testing.T) { testNewRoot(t, dns) })
	}
}

func testNewRoot(t *testing.T, dns bool) {
	p := newPod(t, "good", identity.HandlerOptions{})
	a, xds := p.connect(t)
	if !dns {
		a.DNSPort = 0
	}
	first := p.ca.Current()
	second, err := identity.NewCA("cluster.local")
	if err != nil {
		t.Fatal(err)
	}
	both := first.Bundle().Union(second.Bundle())
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	n, err := a.startDNS(ctx, wg.Go)
	if err != nil {
		t.Fatal(err)
	}
	issued, err := a.requestCertificate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	wg.Go(func() { n.watch(ctx) })
	wg.Go(func() { a.renew(ctx, issued, time.Now().Add(time.Hour)) })
	acknowledged := func(nonce string) {
		t.Helper()
		eventually(t, "the acknowledgement of "+nonce, func() bool { return xds.acknowledged(nonce) })
	}
	xds.responses <- authorityResponse(t, "1", first.IssuerPEM(), both.PEM())
	acknowledged("1")
	if got := p.trusted(t); string(got.PEM()) != string(both.PEM()) || !p.signedBy(t, first) {
		t.Errorf("%d roots are trusted", len(got.Roots()))
	}
	// The signing endpoint has the first root only.
	if issued, err = a.requestCertificate(ctx); err != nil || string(p.trusted(t).PEM()) != string(both.PEM()) {
		t.Errorf("%v, %d roots are trusted", err, len(p.trusted(t).Roots()))
	}
	key, err := second.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	next, err := identity.LoadCA("cluster.local", second.CertificatePEM(), key, both.PEM())
	if err != nil {
		t.Fatal(err)
	}
	xds.responses <- authorityResponse(t, "2", second.IssuerPEM(), []byte("no roots"))
	eventually(t, "a rejection", func() bool {
		xds.mu.Lock()
		defer xds.mu.Unlock()
		return slices.ContainsFunc(xds.rejected, func(m string) bool { return strings.Contains(m, "PEM") })
	})
	p.ca.Store(next)
	xds.responses <- authorityResponse(t, "3", second.IssuerPEM(), both.PEM())
	acknowledged("3")
	eventually(t, "a certificate of the root that signs", func() bool { return p.signedBy(t, second) })
	xds.responses <- nil // ends the stream
	eventually(t, "the agent knows the authority", func() bool {
		xds.mu.Lock()
		defer xds.mu.Unlock()
		return slices.Equal(xds.authority, []string{"", "v3"})
	})
}
