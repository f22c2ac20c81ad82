package identity

import (
	"bytes"
	"context"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type slowVerifier struct{ entered, leave chan struct{} }

func (v slowVerifier) Verify(context.Context, string) (Claims, error) {
	v.entered <- struct{}{}
	<-v.leave
	return blue, nil
}

func TestMaxInFlight(t *testing.T) {
	v := slowVerifier{make(chan struct{}), make(chan struct{})}
	h := NewHandler(testCA(t), v, HandlerOptions{MaxInFlight: 1})
	send := func() int {
		r := httptest.NewRequest("POST", SigningPath, strings.NewReader(""))
		r.Header.Set("Authorization", "Bearer good")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	done := make(chan int)
	go func() { done <- send() }()
	<-v.entered
	if got := send(); got != http.StatusServiceUnavailable {
		t.Errorf("second request: %d, want 503", got)
	}
	close(v.leave)
	if got := <-done; got != http.StatusBadRequest {
		t.Errorf("first request: %d, want 400", got)
	}
}

// A request whose body does not arrive takes no slot.
func TestSlowBodyTakesNoSlot(t *testing.T) {
	h := NewHandler(testCA(t), staticVerifier{}, HandlerOptions{MaxInFlight: 1})
	send := func(body io.Reader) int {
		r := httptest.NewRequest("POST", SigningPath, body)
		r.Header.Set("Authorization", "Bearer good")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	in, out := io.Pipe()
	slow := make(chan int)
	go func() { slow <- send(in) }()
	if _, err := out.Write([]byte("-")); err != nil { // it is being read
		t.Fatal(err)
	}
	if got := send(bytes.NewReader(newCSR(t, newKey(t), &x509.CertificateRequest{}))); got != http.StatusOK {
		t.Errorf("beside a slow request: %d, want 200", got)
	}
	_ = out.Close()
	<-slow
}

func TestAccountLimit(t *testing.T) {
	h := NewHandler(testCA(t), staticVerifier{}, HandlerOptions{AccountCertificatesPerSecond: 1e-9, AccountBurst: 2})
	csr := newCSR(t, newKey(t), &x509.CertificateRequest{})
	for i, want := range []int{200, 200, 429} {
		r := httptest.NewRequest("POST", SigningPath, bytes.NewReader(csr))
		r.Header.Set("Authorization", "Bearer good")
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want || want == 429 && !strings.Contains(w.Body.String(), "service account") {
			t.Errorf("certificate %d: %d %s, want %d", i, w.Code, w.Body, want)
		}
	}
}
