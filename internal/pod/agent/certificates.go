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

// Limits of the delay before the next renewal after a permanent error: the old certificate is valid until it expires,
// and the reason of the error may be corrected.
const minRenewRetry, maxRenewRetry = time.Second, 30 * time.Second

// rootsFile is the file of the trust bundle in CertDir.
const rootsFile = "ca.crt"

// requestCertificate creates a key, requests a certificate for it and writes the files.
func (a *agent) requestCertificate(ctx context.Context) (*identity.Issued, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("agent: new key: %w", err)
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, fmt.Errorf("agent: certificate request: %w", err)
	}
	issued, err := a.signingClient().Request(ctx, identity.EncodeRequest(csr))
	if err != nil {
		a.metrics.certificates.WithLabelValues("failed").Inc()
		return nil, fmt.Errorf("agent: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("agent: encode key: %w", err)
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	if err := verifyIssued(issued, keyPEM, issued.NotAfter.Add(-issued.Lifetime()/2)); err != nil {
		a.metrics.certificates.WithLabelValues("failed").Inc()
		return nil, fmt.Errorf("agent: certificate from %s: %w", a.SigningURL, err)
	}
	if err := a.writeCertificate(issued, keyPEM); err != nil {
		return nil, fmt.Errorf("agent: write certificate: %w", err)
	}
	a.metrics.certificates.WithLabelValues("ok").Inc()
	a.metrics.expiry.Set(float64(issued.NotAfter.Unix()))
	a.Logger.Info("certificate written", "folder", a.CertDir, "serial", issued.Serial, "notAfter", issued.NotAfter)
	return issued, nil
}

// verifyIssued checks that the proxy can use the certificate at a time: key, identity and roots match it.
func verifyIssued(issued *identity.Issued, keyPEM []byte, at time.Time) error {
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
		Roots: roots.Pool(), Intermediates: above, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

func (a *agent) signingClient() *identity.Client {
	return &identity.Client{
		URL: a.SigningURL, ServerName: a.SigningServerName, Logger: a.Logger,
		Token: func() (string, error) {
			text, err := os.ReadFile(a.TokenPath)
			return strings.TrimSpace(string(text)), err
		},
		Roots: a.roots, Time: steadyTime,
	}
}

// started is the time at which the process started.
var started = time.Now()

// steadyTime is the time as of the start of the process, and what has passed since. Unlike time.Now, it does not follow
// a clock that is set.
func steadyTime() time.Time { return started.Round(0).Add(time.Since(started)) }

// roots returns the roots of the last certificate, which a previous agent process may have requested. Without one, it
// returns the roots of the injection, which may have been retired since.
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

// Early renewals, because another root signs: within renewSpread, so that the load of all pods is spread. The replica
// that answers may not know the new root yet.
const renewSpread, maxEarlyRenewals = 10 * time.Second, 3

// renew renews the certificate before it expires, and when another root signs, until the context ends. at is the time
// of the first renewal.
func (a *agent) renew(ctx context.Context, issued *identity.Issued, at time.Time) {
	early := 0 // renewals that are left for the current signer
	for {
		due, ended := a.awaitRenewal(ctx, at)
		if ended {
			return
		}
		if !due {
			early = maxEarlyRenewals
			at = a.earlier(at, issued)
			continue
		}
		next, err := a.requestCertificate(ctx)
		switch {
		case err == nil:
			issued = next
			at = renewalTime(time.Now(), issued)
			if early--; early > 0 {
				at = a.earlier(at, issued)
			}
		case ctx.Err() != nil:
			return
		default:
			at = time.Now().Add(min(max(issued.Lifetime()/10, minRenewRetry), maxRenewRetry))
			a.Logger.Error("certificate renewal failed", "validUntil", issued.NotAfter, "retryAt", at, "error", err)
		}
	}
}

// earlier returns a time within renewSpread, if it is earlier than a time and another root signs now.
func (a *agent) earlier(at time.Time, issued *identity.Issued) time.Time {
	if a.authority.signed(issued) {
		return at
	}
	if soon := time.Now().Add(mathrand.N(renewSpread)); soon.Before(at) {
		return soon
	}
	return at
}

// renewalTime returns two thirds of the lifetime, minus a random part of up to a tenth, so that pods that started
// together renew at different times. now is when it was issued: with its monotonic clock, the result does not depend on
// what the clock of the machine shows, now and later.
func renewalTime(now time.Time, issued *identity.Issued) time.Time {
	at := identity.RenewAt(now, now.Add(issued.Lifetime()))
	if spread := issued.Lifetime() / 10; spread > 0 {
		at = at.Add(-mathrand.N(spread))
	}
	return at
}
