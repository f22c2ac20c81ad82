package relay

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// pair returns a new certificate with its key, in PEM.
func pair(t *testing.T) (chain, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

// mount replaces files as the kubelet does: a link to a folder is renamed.
func mount(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	version, err := os.MkdirTemp(dir, "..")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(version, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)) // it may be there
	}
	if err := os.Symlink(filepath.Base(version), filepath.Join(dir, "..new")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
}

// TestFiles mounts files one after the other. The last valid content stays in use, and the problem has the path and no
// content.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	named := func(name string) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: filepath.Join(dir, name)}}
	}
	body, err := anypb.New(&tlsv3.Secret{Name: "s", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
		CertificateChain: named("tls.crt"), PrivateKey: named("tls.key"),
		WatchedDirectory: &corev3.WatchedDirectory{Path: dir},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	all := newSecrets(slog.New(slog.DiscardHandler))
	chain, key := pair(t)
	otherChain, otherKey := pair(t)
	served, version := "", ""
	for i, step := range []struct {
		files   map[string]string
		want    string // the certificate in use
		problem string
	}{
		{nil, "", "tls.crt: no such file"},
		{map[string]string{"tls.crt": chain}, "", "tls.key: no such file"},
		{map[string]string{"tls.crt": chain, "tls.key": key}, chain, ""},
		{map[string]string{"tls.crt": otherChain, "tls.key": key}, chain, "private key does not match"},
		{map[string]string{"tls.crt": otherChain, "tls.key": otherKey}, otherChain, ""},
		{map[string]string{"tls.crt": "x", "tls.key": otherKey}, otherChain, "tls.crt with"},
		{map[string]string{}, otherChain, "no such file"},
		{map[string]string{"tls.crt": chain, "tls.key": key}, chain, ""},
	} {
		before := all.problem("s")
		if mount(t, dir, step.files); i == 0 {
			if _, _, err := all.define(&discoveryv3.Resource{Name: "s", Version: "v", Resource: body}); err != nil {
				t.Fatal(err)
			}
		} else if changed := all.poll(slices.Values([]string{"s", "unknown"})); (len(changed) > 0) != (all.problem("s") != before) {
			t.Errorf("step %d: changed problems of %q, from %q to %q", i, changed, before, all.problem("s"))
		}
		problem := all.problem("s")
		if (problem == "") != (step.problem == "") || !strings.Contains(problem, step.problem) ||
			strings.Contains(problem, "BEGIN") {
			t.Errorf("step %d: got problem %q, want %q", i, problem, step.problem)
		}
		full := all.resource("s")
		if full == nil {
			if step.want != "" {
				t.Fatalf("step %d: there is no certificate", i)
			}
			continue
		}
		var secret tlsv3.Secret
		if err := full.Resource.UnmarshalTo(&secret); err != nil {
			t.Fatal(err)
		}
		got := string(secret.GetTlsCertificate().CertificateChain.GetInlineBytes())
		if got != step.want || secret.GetTlsCertificate().WatchedDirectory != nil {
			t.Errorf("step %d: got %v, want certificate %s", i, secret.GetTlsCertificate(), step.want)
		}
		if (got == served) != (full.Version == version) {
			t.Errorf("step %d: got version %s after %s", i, full.Version, version)
		}
		served, version = got, full.Version
	}
}

// Users name the files. One that has no end, that blocks, or that is too large is a problem and is not read.
func TestOnlySmallRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	fifo, large := filepath.Join(dir, "fifo"), filepath.Join(dir, "large")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, make([]byte, maxFileSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		fifo: "is not a regular file", "/dev/zero": "is not a regular file", dir: "is not a regular file", large: "more than",
	} {
		trust := &tlsv3.CertificateValidationContext{
			TrustedCa: &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: file}},
		}
		_, err := load(&tlsv3.Secret{Type: &tlsv3.Secret_ValidationContext{ValidationContext: trust}})
		if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", file, err, want)
		}
	}
}
