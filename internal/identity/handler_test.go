package identity

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// staticVerifier accepts the token "good", and returns ErrDenied for "stranger" and another error for "broken".
type staticVerifier struct{}

func (staticVerifier) Verify(_ context.Context, token string) (Claims, error) {
	switch token {
	case "good":
		return blue, nil
	case "stranger":
		return Claims{}, fmt.Errorf("%w: not bound to a pod", ErrDenied)
	case "broken":
		return Claims{}, errors.New("connection refused")
	}
	return Claims{}, ErrUnauthenticated
}

// signingServer serves a handler over TLS with a serving certificate of the CA.
func signingServer(t testing.TB, ca *CA, h http.Handler) string {
	t.Helper()
	serving, err := ca.IssueServingCertificate([]string{"anymesh.test"})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = nil
	l, err := tls.Listen("tcp", "127.0.0.1:0", serving.TLSConfig())
	if err != nil {
		t.Fatal(err)
	}
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	t.Cleanup(srv.Close)
	return "https://" + l.Addr().String()
}

func TestClientReceivesCertificate(t *testing.T) {
	ca := testCA(t)
	url := signingServer(t, ca, NewHandler(ca, staticVerifier{}, HandlerOptions{}))
	c := &Client{URL: url, ServerName: "anymesh.test",
		Token: func() (string, error) { return "good", nil },
		Roots: func() (*Bundle, error) { return ca.Bundle(), nil }}
	issued, err := c.Request(t.Context(), newCSR(t, newKey(t), &x509.CertificateRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := PeerFromCertificate(leafOf(t, issued)); err != nil || p.PodUID != blue.PodUID {
		t.Errorf("peer %+v, %v", p, err)
	}
	if !bytes.Equal(issued.RootsPEM, ca.Bundle().PEM()) {
		t.Error("the roots are not the authority's")
	}
	if !issued.NotAfter.Equal(leafOf(t, issued).NotAfter) {
		t.Error("expiry differs from the certificate's")
	}
}

func TestClientRereadsTokenAndRoots(t *testing.T) {
	ca, stranger := testCA(t), testCA(t)
	url := signingServer(t, ca, NewHandler(ca, staticVerifier{}, HandlerOptions{}))
	tokens := []string{"expired", "broken", "good"}
	var asked, rooted int
	c := &Client{URL: url, ServerName: "anymesh.test", FirstDelay: time.Millisecond, MaxDelay: time.Millisecond,
		Token: func() (string, error) {
			if rooted == 0 {
				return "good", nil // never sent: the server is not verified yet
			}
			asked++
			return tokens[asked-1], nil
		},
		Roots: func() (*Bundle, error) {
			rooted++
			if rooted == 1 {
				return stranger.Bundle(), nil
			}
			return ca.Bundle(), nil
		}}
	if _, err := c.Request(t.Context(), newCSR(t, newKey(t), &x509.CertificateRequest{})); err != nil {
		t.Fatal(err)
	}
	if asked != 3 || rooted != 4 {
		t.Errorf("token read %d times, roots %d times", asked, rooted)
	}
}

func TestClientStopsOnPermanentError(t *testing.T) {
	ca := testCA(t)
	url := signingServer(t, ca, NewHandler(ca, staticVerifier{}, HandlerOptions{}))
	c := &Client{URL: url, ServerName: "anymesh.test",
		Token: func() (string, error) { return "stranger", nil },
		Roots: func() (*Bundle, error) { return ca.Bundle(), nil }}
	_, err := c.Request(t.Context(), newCSR(t, newKey(t), &x509.CertificateRequest{}))
	if err == nil || !strings.Contains(err.Error(), "PermissionDenied") ||
		!strings.Contains(err.Error(), "not bound to a pod") {
		t.Errorf("error %v does not contain the server's message", err)
	}
	c.URL = strings.Replace(url, "https", "http", 1)
	if _, err := c.Request(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("a token is sent without TLS: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.URL = url
	c.Token = func() (string, error) { cancel(); return "", errors.New("no such file") }
	if _, err := c.Request(ctx, nil); !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v does not name the last failure", err)
	}
}

func TestClientIgnoresRedirects(t *testing.T) {
	ca := testCA(t)
	var stolen atomic.Int32
	thief := signingServer(t, ca, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { stolen.Add(1) }))
	url := signingServer(t, ca, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief, http.StatusTemporaryRedirect)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	c := &Client{URL: url, ServerName: "anymesh.test", FirstDelay: time.Millisecond, MaxDelay: time.Millisecond,
		Token: func() (string, error) {
			if tries++; tries == 3 {
				cancel()
			}
			return "good", nil
		},
		Roots: func() (*Bundle, error) { return ca.Bundle(), nil }}
	if _, err := c.Request(ctx, nil); err == nil {
		t.Error("the client followed a redirect")
	}
	if stolen.Load() != 0 {
		t.Error("the token was sent to another server")
	}
}

func TestHandlerResponses(t *testing.T) {
	good := newCSR(t, newKey(t), &x509.CertificateRequest{})
	for name, c := range map[string]struct {
		method, path, auth string
		body               []byte
		status             int
		code               string
	}{
		"certificate":    {"POST", SigningPath, "Bearer good", good, 200, ""},
		"scheme's case":  {"POST", SigningPath, "bearer good", good, 200, ""},
		"other path":     {"POST", "/", "Bearer good", good, 404, "NotFound"},
		"other method":   {"GET", SigningPath, "Bearer good", good, 405, "MethodNotAllowed"},
		"no token":       {"POST", SigningPath, "", good, 401, "Unauthenticated"},
		"basic":          {"POST", SigningPath, "Basic good", good, 401, "Unauthenticated"},
		"bad token":      {"POST", SigningPath, "Bearer bad", good, 401, "Unauthenticated"},
		"stranger":       {"POST", SigningPath, "Bearer stranger", good, 403, "PermissionDenied"},
		"cluster away":   {"POST", SigningPath, "Bearer broken", good, 503, "Unavailable"},
		"not a request":  {"POST", SigningPath, "Bearer good", []byte("x"), 400, "InvalidRequest"},
		"large":          {"POST", SigningPath, "Bearer good", make([]byte, MaxRequestSize+1), 413, "TooLarge"},
		"large, unknown": {"POST", SigningPath, "Bearer bad", make([]byte, MaxRequestSize+1), 413, "TooLarge"},
	} {
		t.Run(name, func(t *testing.T) {
			h := NewHandler(testCA(t), staticVerifier{}, HandlerOptions{})
			r := httptest.NewRequest(c.method, c.path, bytes.NewReader(c.body))
			if c.auth != "" {
				r.Header.Set("Authorization", c.auth)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			var body struct{ Code, Message string }
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Error(err)
			}
			if w.Code != c.status || body.Code != c.code {
				t.Errorf("%d %q, want %d %q", w.Code, body.Code, c.status, c.code)
			}
			if c.code != "" && body.Message == "" {
				t.Error("no message")
			}
			if c.code == "Unavailable" && strings.Contains(body.Message, "refused") {
				t.Errorf("inner errors are shown to strangers: %q", body.Message)
			}
		})
	}
}

func TestRateLimitsPerSourceAndPod(t *testing.T) {
	now := time.Now()
	ca, err := newCA("cluster.local", func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	h := NewHandler(ca, staticVerifier{}, HandlerOptions{SourceRequestsPerSecond: 1, SourceBurst: 3,
		PodCertificatesPerSecond: 1, PodBurst: 2, Registerer: reg})
	good := newCSR(t, newKey(t), &x509.CertificateRequest{})
	send := func(from, token string) int {
		r := httptest.NewRequest("POST", SigningPath, bytes.NewReader(good))
		r.RemoteAddr = from
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == 429 && w.Header().Get("Retry-After") == "" {
			t.Error("429 has no Retry-After")
		}
		return w.Code
	}
	// The fourth request of one address exceeds the limit, with any token. Its /64 is that of a whole node.
	for i, want := range []int{401, 401, 401, 429} {
		if got := send(fmt.Sprintf("[2001:db8::1]:%d", i+1), "bad"); got != want {
			t.Errorf("request %d: %d, want %d", i, got, want)
		}
	}
	if got := send("[2001:db8::2]:9", "bad"); got != 401 {
		t.Errorf("another address of the network: %d, want 401", got)
	}
	// The limit of a pod is independent of the source address.
	for i, want := range []int{200, 200, 429} {
		if got := send(fmt.Sprintf("10.0.0.%d:9", i), "good"); got != want {
			t.Errorf("certificate %d: %d, want %d", i, got, want)
		}
	}
	now = now.Add(time.Second)
	if got := send("[2001:db8::9]:9", "good"); got != 200 {
		t.Errorf("a second later: %d, want 200", got)
	}
	if n := testutil.ToFloat64(h.(*handler).requests.WithLabelValues("TooManyRequests")); n != 2 {
		t.Errorf("the metric counts %v refusals, want 2", n)
	}
}

func TestSourceKey(t *testing.T) {
	for in, want := range map[string]string{
		"10.1.2.3:80":                 "10.1.2.3",
		"[::ffff:10.1.2.3]:80":        "10.1.2.3",
		"[2001:db8:1:2:3:4:5:6]:80":   "2001:db8:1:2:3:4:5:6",
		"[fe80::1%eth0]:80":           "fe80::1",
		"@":                           "unknown",
		net.JoinHostPort("host", "1"): "unknown",
	} {
		t.Run(in, func(t *testing.T) {
			if got := sourceKey(in); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}
