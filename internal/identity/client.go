package identity

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"
)

// maxAnswer bounds what a client reads of an answer, in bytes.
const maxAnswer = 1 << 20

// Client asks a signing endpoint for certificates. Token and roots are read
// anew for each attempt, since both are rotated under the client's feet.
type Client struct {
	// URL of the signing server without a path, for example https://anymesh.anymesh-system.svc:15010.
	URL string
	// ServerName is the DNS name the server must prove; empty means the URL's host.
	ServerName string
	// Token reads the projected token.
	Token func() (string, error)
	// Roots reads the bundle that verifies the server.
	Roots func() (*Bundle, error)
	// Timeout of one attempt; 10 s.
	Timeout time.Duration
	// FirstDelay and MaxDelay bound the back-off between attempts; 250 ms and 15 s.
	FirstDelay, MaxDelay time.Duration
	// Logger hears of failed attempts; slog.Default().
	Logger *slog.Logger
}

// Request sends the certificate request and returns the certificate. It tries
// again, with growing and jittered delays, until the context ends, unless the
// server says that trying again is of no use (400, 403, 404, 405, 413).
func (c *Client) Request(ctx context.Context, csrPEM []byte) (*Issued, error) {
	timeout, delay, limit, log := c.Timeout, c.FirstDelay, c.MaxDelay, c.Logger
	setDefault(&timeout, 10*time.Second)
	setDefault(&delay, 250*time.Millisecond)
	setDefault(&limit, 15*time.Second)
	if log == nil {
		log = slog.Default()
	}
	for {
		attempt, cancel := context.WithTimeout(ctx, timeout)
		issued, err := c.once(attempt, csrPEM)
		cancel()
		if err == nil {
			return issued, nil
		}
		var f *failure
		if errors.As(err, &f) && !worthRetry(f.status) {
			return nil, fmt.Errorf("certificate from %s: %w", c.URL, err)
		}
		wait := delay/2 + rand.N(delay/2+1)
		log.Warn("no certificate yet", "server", c.URL, "error", err, "retryIn", wait)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("certificate from %s: %w (last: %w)", c.URL, ctx.Err(), err)
		case <-time.After(wait):
		}
		delay = min(2*delay, limit)
	}
}

// worthRetry: 401 is, because kubelet may be about to replace an expired token.
func worthRetry(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge:
		return false
	}
	return true
}

func (c *Client) once(ctx context.Context, csrPEM []byte) (*Issued, error) {
	token, err := c.Token()
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	roots, err := c.Roots()
	if err != nil {
		return nil, err
	}
	// One connection for each request, as they are a day apart. No proxy from the
	// environment: the token is for the control plane's eyes only.
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots.Pool(), ServerName: c.ServerName},
		ForceAttemptHTTP2: true,
	}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+SigningPath, bytes.NewReader(csrPEM))
	if err != nil {
		return nil, err
	}
	if req.URL.Scheme != "https" {
		return nil, fail(http.StatusBadRequest, "InvalidRequest", "the signing server's URL must be https")
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/x-pem-file")
	resp, err := transport.RoundTrip(req) // follows no redirect
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, failureOf(resp.StatusCode, body)
	}
	return issuedOf(body)
}

func failureOf(status int, body []byte) error {
	f := &failure{}
	if err := json.Unmarshal(body, f); err != nil || f.Code == "" {
		f = &failure{Code: http.StatusText(status), Message: "the answer is not from a signing endpoint"}
	}
	f.status = status
	return f
}

func issuedOf(body []byte) (*Issued, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	chain, err := parseCertificates([]byte(a.Certificate))
	if err != nil {
		return nil, fmt.Errorf("answer: certificate: %w", err)
	}
	roots, err := ParseBundle([]byte(a.Roots))
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	return &Issued{
		CertificatePEM: encodeCertificates(chain), RootsPEM: roots.PEM(), Serial: chain[0].SerialNumber.Text(16),
		NotBefore: chain[0].NotBefore, NotAfter: chain[0].NotAfter,
	}, nil
}

// EncodeRequest wraps a DER certificate request in PEM, as Sign and Request want it.
func EncodeRequest(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemRequest, Bytes: der})
}
