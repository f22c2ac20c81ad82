package identity

import (
	"bytes"
	"context"
	"crypto/x509"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/test/poll"
)

func TestInvalidSecretIsLoggedOnceAndLastCAStays(t *testing.T) {
	var log bytes.Buffer
	server, clock, registry := &fakeSecretAPI{}, newFakeClock(), prometheus.NewRegistry()
	k := server.open(t, CAStoreOptions{Lifetime: time.Hour, Registerer: registry,
		Logger: slog.New(slog.NewTextHandler(&log, nil)), PollInterval: time.Millisecond}, clock.Now)
	good, whole := k.Current(), server.secret.DeepCopy()
	for name, breakIt := range map[string]func(*corev1.Secret){
		`data[\"tls.key\"] is missing`: func(s *corev1.Secret) { delete(s.Data, "tls.key") },
		"CA certificate":               func(s *corev1.Secret) { s.Data["tls.crt"] = []byte("rubbish") },
		"does not match":               func(s *corev1.Secret) { s.Data["tls.key"], _ = testCA(t).KeyPEM() },
		"roots do not verify":          func(s *corev1.Secret) { s.Data["ca.crt"] = testCA(t).Bundle().PEM() },
		"phase-until":                  func(s *corev1.Secret) { s.Annotations[phaseEndAnnotation] = "soon" },
		"next.crt":                     func(s *corev1.Secret) { s.Data[nextCertKey] = []byte("rubbish") },
		"has no end":                   func(s *corev1.Secret) { s.Data[previousKey] = s.Data["tls.crt"] },
	} {
		t.Run(name, func(t *testing.T) {
			log.Reset()
			server.edit(breakIt)
			for range 3 {
				_ = k.sync(t.Context())
			}
			err := k.sync(t.Context())
			if err == nil || k.Current() != good || k.Status().LastError == "" {
				t.Errorf("sync error %v, status %+v", err, k.Status())
			}
			server.edit(func(s *corev1.Secret) { whole.DeepCopyInto(s) })
			server.edit(breakIt)
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() { _ = k.Run(ctx) })
			poll.Until(t, "three failed reads are counted", func() bool {
				return testutil.ToFloat64(k.metrics.reads.WithLabelValues("failed")) >= 3
			})
			cancel()
			wg.Wait()
			if n := strings.Count(log.String(), "CA Secret is unusable"); n != 1 ||
				!strings.Contains(log.String(), name) {
				t.Errorf("logged %d times: %s", n, log.String())
			}
			k.metrics.reads.Reset()
			server.edit(func(s *corev1.Secret) { whole.DeepCopyInto(s) })
			syncAll(t, k)
			if k.Status().LastError != "" {
				t.Errorf("repaired, but the last error is %q", k.Status().LastError)
			}
			good = k.Current()
		})
	}
}

// While the API server is unavailable, certificates are still signed. A root that has expired meanwhile is replaced
// afterwards.
func TestSigningWithoutAPIServer(t *testing.T) {
	server, clock := &fakeSecretAPI{}, newFakeClock()
	k := server.open(t, CAStoreOptions{Lifetime: time.Hour, RootLifetime: 20 * time.Hour}, clock.Now)
	server.down = true
	if err := k.sync(t.Context()); err == nil {
		t.Error("sync returned no error")
	}
	if _, err := k.Current().Sign(newCSR(t, newKey(t), &x509.CertificateRequest{}), blue, time.Hour); err != nil {
		t.Error(err)
	}
	server.down = false
	clock.advance(21 * time.Hour)
	old := k.Current().cert
	again := server.open(t, CAStoreOptions{Lifetime: time.Hour, RootLifetime: 20 * time.Hour}, clock.Now)
	syncAll(t, again)
	checkStatus(t, again, Steady, RoleSigning)
	if again.Current().cert.Equal(old) {
		t.Error("the CA signs with an expired root")
	}
	syncAll(t, k) // a running replica follows
	if !k.Current().cert.Equal(again.Current().cert) {
		t.Error("replicas differ")
	}
	clock.advance(21 * time.Hour) // a running replica replaces an expired root, too
	syncAll(t, k)
	checkStatus(t, k, Steady, RoleSigning)
	if k.Current().cert.Equal(again.Current().cert) {
		t.Error("the CA signs with an expired root")
	}
}

// A replica that runs reads the Secret after a change, and not otherwise.
func TestSecretIsReadAfterChanges(t *testing.T) {
	server := &fakeSecretAPI{}
	var looks atomic.Int64 // whether a step is due
	now := func() time.Time {
		looks.Add(1)
		return time.Now()
	}
	k := server.open(t, CAStoreOptions{Registerer: prometheus.NewRegistry(), PollInterval: time.Millisecond}, now)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wg.Go(func() { _ = k.Run(ctx) })
	watched := func() bool {
		server.mu.Lock()
		defer server.mu.Unlock()
		return len(server.watches) > 0
	}
	poll.Until(t, "the Secret is watched", watched)
	other := testCA(t)
	server.edit(func(s *corev1.Secret) {
		s.Annotations = nil
		s.Data = map[string][]byte{}
		s.Data["tls.crt"], s.Data["ca.crt"] = other.Bundle().PEM(), other.Bundle().PEM()
		s.Data["tls.key"], _ = other.KeyPEM()
	})
	poll.Until(t, "the CA of the user signs", func() bool { return k.Current().cert.Equal(other.cert) })
	before := looks.Load()
	poll.Until(t, "many intervals passed", func() bool { return looks.Load() > before+100 })
	if n := testutil.ToFloat64(k.metrics.reads.WithLabelValues("ok")); n > 10 {
		t.Errorf("the Secret was read %v times, at intervals and not after changes", n)
	}
}
