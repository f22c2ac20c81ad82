package identity

import (
	"crypto/x509"
	"testing"
	"time"
)

// A client whose clock was set gets certificates from a server that is valid by a clock that was not, and knows for how
// long they are valid. A server that is valid by neither is refused.
func TestClientWhoseClockWasSet(t *testing.T) {
	for name, offset := range map[string]time.Duration{"forth": -3 * DefaultLifetime, "back": time.Hour} {
		t.Run(name, func(t *testing.T) {
			real := func() time.Time { return time.Now().Add(offset) }
			ca, err := newCA("cluster.local", real)
			if err != nil {
				t.Fatal(err)
			}
			c := &Client{
				URL: signingServer(t, ca, NewHandler(ca, staticVerifier{}, HandlerOptions{})), ServerName: "anymesh.test",
				Token: func() (string, error) { return "good", nil },
				Roots: func() (*Bundle, error) { return ca.Bundle(), nil },
				Time:  real,
			}
			csr := newCSR(t, newKey(t), &x509.CertificateRequest{})
			issued, err := c.Request(t.Context(), csr)
			if err != nil {
				t.Fatal(err)
			}
			if got := issued.Lifetime().Round(time.Minute); got != DefaultLifetime {
				t.Errorf("the certificate is valid for %s", got)
			}
			if _, err := c.attempt(t.Context(), csr, time.Now); !notValidNow(err) {
				t.Errorf("by the clock that was set: %v", err)
			}
		})
	}
}
