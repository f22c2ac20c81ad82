package agent

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"anymesh.dev/anymesh/internal/identity"
)

// maxRetry bounds the pause after the server refused a renewal for good, and
// minRetry how often it is asked then. The old certificate serves until it
// expires, and refusals can be mended.
const minRetry, maxRetry = time.Second, 30 * time.Second

// rootsFile is the trust bundle beside the certificate.
const rootsFile = "ca.crt"

// obtain makes a new key, gets a certificate for it and writes the files.
func (a *agent) obtain(ctx context.Context) (*identity.Issued, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("agent: new key: %w", err)
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, fmt.Errorf("agent: certificate request: %w", err)
	}
	issued, err := a.signer().Request(ctx, identity.EncodeRequest(csr))
	if err != nil {
		a.metrics.certificates.WithLabelValues("failed").Inc()
		return nil, fmt.Errorf("agent: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("agent: encode key: %w", err)
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	if err := checkIssued(issued, keyPEM); err != nil {
		a.metrics.certificates.WithLabelValues("failed").Inc()
		return nil, fmt.Errorf("agent: certificate from %s: %w", a.SigningURL, err)
	}
	if err := writeFiles(a.CertDir, map[string][]byte{
		"tls.crt": issued.CertificatePEM, "tls.key": keyPEM, rootsFile: issued.RootsPEM,
	}); err != nil {
		return nil, fmt.Errorf("agent: write certificate: %w", err)
	}
	a.metrics.certificates.WithLabelValues("ok").Inc()
	a.metrics.expiry.Set(float64(issued.NotAfter.Unix()))
	a.Logger.Info("certificate written", "folder", a.CertDir, "serial", issued.Serial, "notAfter", issued.NotAfter)
	return issued, nil
}

// checkIssued looks at what the proxy would otherwise stumble over.
func checkIssued(issued *identity.Issued, keyPEM []byte) error {
	pair, err := tls.X509KeyPair(issued.CertificatePEM, keyPEM)
	if err != nil {
		return err
	}
	if _, err := identity.PeerFromCertificate(pair.Leaf); err != nil {
		return err
	}
	roots, err := identity.ParseBundle(issued.RootsPEM)
	if err != nil {
		return err
	}
	above := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		above.AddCert(c)
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{
		Roots: roots.Pool(), Intermediates: above, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

func (a *agent) signer() *identity.Client {
	return &identity.Client{
		URL: a.SigningURL, ServerName: a.SigningName, Logger: a.Logger,
		Token: func() (string, error) {
			text, err := os.ReadFile(a.TokenPath)
			return strings.TrimSpace(string(text)), err
		},
		Roots: a.roots,
	}
}

// roots are those that came with the last certificate, which may be of an agent
// before us in this pod. What the pod was told when it was made is for the start:
// its roots may have been retired since.
func (a *agent) roots() (*identity.Bundle, error) {
	if text, err := os.ReadFile(filepath.Join(a.CertDir, rootsFile)); err == nil {
		if newest, err := identity.ParseBundle(text); err == nil {
			return newest, nil
		}
	}
	text, err := os.ReadFile(a.RootsPath)
	if err != nil {
		return nil, err
	}
	return identity.ParseBundle(text)
}

// renew replaces the certificate in time, until the context ends. The first renewal is at a given time.
func (a *agent) renew(ctx context.Context, issued *identity.Issued, at time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(at)):
		}
		next, err := a.obtain(ctx)
		switch {
		case err == nil:
			issued = next
			at = renewalTime(time.Now(), issued.NotAfter)
		case ctx.Err() != nil:
			return
		default:
			at = time.Now().Add(min(max(time.Until(issued.NotAfter)/10, minRetry), maxRetry))
			a.Logger.Error("certificate not renewed", "validUntil", issued.NotAfter, "retryAt", at, "error", err)
		}
	}
}

// renewalTime is two thirds into the lifetime, up to a tenth of it earlier, so
// that pods that started together do not come back together.
func renewalTime(now, notAfter time.Time) time.Time {
	at := identity.RenewAt(now, notAfter)
	if spread := notAfter.Sub(now) / 10; spread > 0 {
		at = at.Add(-mathrand.N(spread))
	}
	return at
}
