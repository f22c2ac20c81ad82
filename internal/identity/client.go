package identity

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// maxResponseSize is the maximum length of a response that the client reads, in bytes.
const maxResponseSize = 1 << 20

// Client requests certificates from a signing endpoint. It reads token and roots for each attempt, since both are
// rotated.
type Client struct {
	// URL of the signing server without a path, for example https://anymesh.anymesh-system.svc:15010.
	URL string
	// ServerName is the DNS name of the server certificate. Empty means the host of URL.
	ServerName string
	// Token reads the projected token.
	Token func() (string, error)
	// Roots reads the bundle that verifies the server.
	Roots func() (*Bundle, error)
	// Timeout of one attempt. The default is 10 s.
	Timeout time.Duration
	// FirstDelay and MaxDelay limit the backoff between attempts. The defaults are 250 ms and 15 s.
	FirstDelay, MaxDelay time.Duration
	// Time is the clock that verifies the server if its certificate is not valid by that of the machine. Nil means none.
	Time func() time.Time
	// Logger logs failed attempts. The default is slog.Default().
	Logger *slog.Logger
}

// Request sends the certificate request and returns the certificate. It retries with exponential backoff and jitter
// until the context ends, unless the status is permanent (400, 403, 404, 405, 413).
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
		issued, err := c.attempt(attempt, csrPEM, nil)
		if c.Time != nil && notValidNow(err) {
			issued, err = c.attempt(attempt, csrPEM, c.Time)
		}
		cancel()
		if err == nil {
			return issued, nil
		}
		var f *errorResponse
		if errors.As(err, &f) && !retryable(f.status) {
			return nil, fmt.Errorf("certificate from %s: %w", c.URL, err)
		}
		wait := delay/2 + rand.N(delay/2+1)
		log.Warn("certificate request failed", "server", c.URL, "error", err, "retryIn", wait)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("certificate from %s: %w (last: %w)", c.URL, ctx.Err(), err)
		case <-time.After(wait):
		}
		delay = min(2*delay, limit)
	}
}

// retryable reports whether a status may be temporary. 401 is: kubelet may be about to replace an expired token.
func retryable(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge:
		return false
	}
	return true
}

// notValidNow reports whether a connection failed because the server's certificate has expired, or is not valid yet.
func notValidNow(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired
}

func (c *Client) attempt(ctx context.Context, csrPEM []byte, clock func() time.Time) (*Issued, error) {
	token, err := c.Token()
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	roots, err := c.Roots()
	if err != nil {
		return nil, err
	}
	// One connection per request, since requests are hours apart. No proxy from the environment: it would see the
	// token.
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots.Pool(), ServerName: c.ServerName,
			Time: clock},
		ForceAttemptHTTP2: true,
	}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+SigningPath, bytes.NewReader(csrPEM))
	if err != nil {
		return nil, err
	}
	if req.URL.Scheme != "https" {
		return nil, newError(http.StatusBadRequest, "InvalidRequest", "the signing server's URL must be https")
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/x-pem-file")
	resp, err := transport.RoundTrip(req) // does not follow redirects
	if IsOtherAuthority(err) {
		return nil, fmt.Errorf("%s: %w", OtherAuthority, err)
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponseSize))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, parseErrorResponse(resp.StatusCode, body)
	}
	return parseSignResponse(body)
}

// OtherAuthority tells what an error of IsOtherAuthority means for a pod.
const OtherAuthority = "the control plane has another authority than this pod trusts, as after an installation with a " +
	"new authority: restart the pod"

// IsOtherAuthority reports whether a connection failed because the server's certificate is not of the trusted roots.
// gRPC keeps only the text of the error.
func IsOtherAuthority(err error) bool {
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &unknown) || err != nil && strings.Contains(err.Error(), x509.UnknownAuthorityError{}.Error())
}

func parseErrorResponse(status int, body []byte) error {
	f := &errorResponse{}
	if err := json.Unmarshal(body, f); err != nil || f.Code == "" {
		f = &errorResponse{Code: http.StatusText(status), Message: "the response is not from a signing endpoint"}
	}
	f.status = status
	return f
}

func parseSignResponse(body []byte) (*Issued, error) {
	var a signResponse
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	chain, err := parseCertificates([]byte(a.Certificate))
	if err != nil {
		return nil, fmt.Errorf("response: certificate: %w", err)
	}
	roots, err := ParseBundle([]byte(a.Roots))
	if err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	return &Issued{
		CertificatePEM: encodeCertificates(chain), RootsPEM: roots.PEM(), Serial: chain[0].SerialNumber.Text(16),
		NotBefore: chain[0].NotBefore, NotAfter: chain[0].NotAfter,
	}, nil
}

// EncodeRequest encodes a DER certificate request as PEM, the input of Sign and Request.
func EncodeRequest(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemRequest, Bytes: der})
}
