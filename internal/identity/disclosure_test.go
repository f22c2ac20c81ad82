package identity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
)

// Logs, status and metrics contain no key, through a whole rotation with invalid Secrets.
func TestCAKeysAreNotDisclosed(t *testing.T) {
	var told bytes.Buffer
	server, clock, registry := &fakeSecretAPI{}, newFakeClock(), prometheus.NewRegistry()
	k := server.open(t, CAStoreOptions{
		Lifetime: time.Hour, Registerer: registry, Logger: slog.New(slog.NewJSONHandler(&told,
			&slog.HandlerOptions{Level: slog.LevelDebug})),
	}, clock.Now)
	secrets := map[string]bool{}
	look := func() {
		for name, text := range server.secret.Data {
			for line := range strings.Lines(string(text)) {
				if strings.HasSuffix(name, ".key") && !strings.HasPrefix(line, "-----") {
					secrets[strings.TrimSpace(line)] = true
				}
			}
		}
		status, err := json.Marshal(k.Status())
		if err != nil {
			t.Fatal(err)
		}
		told.Write(status)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if _, err := expfmt.MetricFamilyToText(&told, f); err != nil {
				t.Fatal(err)
			}
		}
	}
	server.requestRotation()
	for range 4 {
		if err := k.sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		look()
		whole := server.secret.DeepCopy()
		server.edit(func(s *corev1.Secret) { s.Data["tls.crt"] = s.Data["tls.key"] })
		if err := k.sync(t.Context()); err == nil {
			t.Fatal("an invalid Secret was accepted")
		} else {
			told.WriteString(err.Error())
		}
		server.edit(func(s *corev1.Secret) { whole.DeepCopyInto(s) })
		clock.advance(phaseLength(time.Hour))
	}
	if len(secrets) < 4 {
		t.Fatalf("there were only %d lines of keys", len(secrets))
	}
	mustNotDisclose(t, told.String(), secrets)
}

// Formatting or marshaling a CA does not disclose its key.
func TestCAIsFormattedWithoutKey(t *testing.T) {
	ca := testCA(t)
	key, err := ca.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]bool{}
	for line := range strings.Lines(string(key)) {
		if !strings.HasPrefix(line, "-----") {
			secrets[strings.TrimSpace(line)] = true
		}
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "ca", ca)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "ca", ca)
	text, err := json.Marshal(ca)
	if err != nil {
		t.Fatal(err)
	}
	for _, printed := range []string{fmt.Sprint(ca), fmt.Sprintf("%+v", ca), fmt.Sprintf("%#v", ca),
		fmt.Sprintf("%s %v", ca, struct{ A any }{ca}), log.String(), string(text)} {
		mustNotDisclose(t, printed, secrets)
		if strings.Contains(printed, "ecdsa") || strings.Contains(printed, "PrivateKey") ||
			strings.Contains(printed, "key:") {
			t.Errorf("printed as %s", printed)
		}
	}
}

func mustNotDisclose(t *testing.T, text string, secrets map[string]bool) {
	t.Helper()
	if len(text) == 0 {
		t.Error("there is no output")
	}
	if strings.Contains(text, "BEGIN PRIVATE KEY") {
		t.Error("a key is disclosed")
	}
	for secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("a line of a key is disclosed: %.10s...", secret)
		}
	}
}
