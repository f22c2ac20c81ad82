package secrets_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	corev1 "k8s.io/api/core/v1"
)

// TestProblemsAreEvents breaks and repairs a Secret: its problem is an event about it, which says what clients get.
func TestProblemsAreEvents(t *testing.T) {
	a := &api{changed: make(chan struct{})}
	stream, err := serve(t, a).StreamSecrets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&discoveryv3.DiscoveryRequest{ResourceNames: []string{"kubernetes://a/web"}}); err != nil {
		t.Fatal(err)
	}
	first, second := certificate(t), certificate(t)
	mismatch := map[string][]byte{"tls.crt": first["tls.crt"], "tls.key": second["tls.key"]}
	for _, step := range []struct {
		data             map[string][]byte
		reason, contains string
	}{
		{nil, "CertificateUnavailable", "it does not exist; connections to its hosts fail"},
		{map[string][]byte{}, "CertificateUnavailable", "it has no tls.crt; connections to its hosts fail"},
		{map[string][]byte{"tls.crt": first["tls.crt"]}, "CertificateUnavailable", "it has no tls.key; connections to its hosts fail"},
		{map[string][]byte{"tls.crt": []byte("x"), "tls.key": first["tls.key"]}, "CertificateUnavailable", "failed to find any PEM data in certificate input; connections to its hosts fail"},
		{mismatch, "CertificateUnavailable", "private key does not match public key; connections to its hosts fail"},
		{first, "CertificateServed", "the gateway has the certificate"},
		{mismatch, "CertificateUnavailable", "private key does not match public key; the last certificate stays in use"},
	} {
		if step.data != nil {
			a.set(step.data)
		}
		a.wantsEvent(t, step.reason, step.contains)
	}
}

// wantsEvent waits for an event about the Secret.
func (a *api) wantsEvent(t *testing.T, reason, contains string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		a.mu.Lock()
		all := slices.Clone(a.events)
		a.mu.Unlock()
		if slices.ContainsFunc(all, func(e corev1.Event) bool {
			return e.Reason == reason && strings.Contains(e.Message, contains) && e.InvolvedObject.Kind == "Secret" &&
				e.InvolvedObject.Namespace == "a" && e.InvolvedObject.Name == "web"
		}) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no event %s: %s among %+v", reason, contains, all)
		}
	}
}
