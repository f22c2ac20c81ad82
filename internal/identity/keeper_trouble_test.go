package identity

import (
	"bytes"
	"context"
	"crypto/x509"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
)

func TestABrokenSecretIsToldOnceAndTheLastGoodAuthorityStays(t *testing.T) {
	var log bytes.Buffer
	server, clock, registry := &secretServer{}, newClock(), prometheus.NewRegistry()
	k := server.open(t, KeeperOptions{Lifetime: time.Hour, Registerer: registry, Logger: slog.New(slog.NewTextHandler(&log, nil)), Every: time.Millisecond}, clock.Now)
	good, whole := k.Current(), server.secret.DeepCopy()
	for name, breakIt := range map[string]func(*corev1.Secret){
		`data[\"tls.key\"] is missing`: func(s *corev1.Secret) { delete(s.Data, "tls.key") },
		"authority's certificate":      func(s *corev1.Secret) { s.Data["tls.crt"] = []byte("rubbish") },
		"does not belong":              func(s *corev1.Secret) { s.Data["tls.key"], _ = testCA(t).KeyPEM() },
		"roots do not verify":          func(s *corev1.Secret) { s.Data["ca.crt"] = testCA(t).Bundle().PEM() },
		"phase-until":                  func(s *corev1.Secret) { s.Annotations[untilAnnotation] = "soon" },
		"next.crt":                     func(s *corev1.Secret) { s.Data[nextCertKey] = []byte("rubbish") },
		"has no end":                   func(s *corev1.Secret) { s.Data[previousKey] = s.Data["tls.crt"] },
	} {
		log.Reset()
		server.edit(breakIt)
		for range 3 {
			_ = k.turn(t.Context())
		}
		err := k.turn(t.Context())
		if err == nil || k.Current() != good || k.Status().Trouble == "" {
			t.Errorf("%s: turn says %v, status %+v", name, err, k.Status())
		}
		server.edit(func(s *corev1.Secret) { whole.DeepCopyInto(s) })
		server.edit(breakIt)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = k.Run(ctx) })
		eventuallyTrue(t, func() bool { return testutil.ToFloat64(k.metrics.turns.WithLabelValues("failed")) >= 3 })
		cancel()
		wg.Wait()
		if n := strings.Count(log.String(), "cannot be followed"); n != 1 || !strings.Contains(log.String(), name) {
			t.Errorf("%s: told %d times: %s", name, n, log.String())
		}
		k.metrics.turns.Reset()
		server.edit(func(s *corev1.Secret) { whole.DeepCopyInto(s) })
		turns(t, k)
		if k.Status().Trouble != "" {
			t.Errorf("%s: mended, and it says %q", name, k.Status().Trouble)
		}
		good = k.Current()
	}
}

func eventuallyTrue(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never")
		}
	}
}

// While Kubernetes is away certificates go on being signed; a root that expires meanwhile is replaced when it is back.
func TestKubernetesMayBeAway(t *testing.T) {
	server, clock := &secretServer{}, newClock()
	k := server.open(t, KeeperOptions{Lifetime: time.Hour, RootLifetime: 20 * time.Hour}, clock.Now)
	server.down = true
	if err := k.turn(t.Context()); err == nil {
		t.Error("nobody was told")
	}
	if _, err := k.Current().Sign(request(t, newKey(t), &x509.CertificateRequest{}), blue, time.Hour); err != nil {
		t.Error(err)
	}
	server.down = false
	clock.pass(21 * time.Hour)
	old := k.Current().cert
	again := server.open(t, KeeperOptions{Lifetime: time.Hour, RootLifetime: 20 * time.Hour}, clock.Now)
	turns(t, again)
	expect(t, again, Steady, RoleSigning)
	if again.Current().cert.Equal(old) {
		t.Error("it signs with an expired root")
	}
	turns(t, k) // a replica that has been there all the time follows
	if !k.Current().cert.Equal(again.Current().cert) {
		t.Error("replicas differ")
	}
	clock.pass(21 * time.Hour) // it does so by itself, too
	turns(t, k)
	expect(t, k, Steady, RoleSigning)
	if k.Current().cert.Equal(again.Current().cert) {
		t.Error("it signs with an expired root")
	}
}
