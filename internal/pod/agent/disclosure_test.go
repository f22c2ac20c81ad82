package agent

import (
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/identity"
)

// Output and HTTP responses of the agent contain no key and no token, also after renewals.
func TestKeysAreNotDisclosed(t *testing.T) {
	p := newPod(t, "good", identity.HandlerOptions{Lifetime: 3 * time.Second})
	r := p.start(t, "0")
	secrets := map[string]bool{"good\n": true}
	eventually(t, "three keys", func() bool {
		if text, err := os.ReadFile(p.certs + "/tls.key"); err == nil {
			block, _ := pem.Decode(text)
			if block == nil {
				t.Fatal("the key is not PEM")
			}
			for line := range strings.Lines(string(text)) {
				if !strings.HasPrefix(line, "-----") {
					secrets[strings.TrimSpace(line)] = true
				}
			}
		}
		return len(secrets) >= 7 && r.logged("serial=") // a key has at least two lines
	})
	outputs := []string{}
	for _, path := range []string{"/metrics", "/ready", "/app-probe/x/livez", "/"} {
		_, text := httpGet(t, "http://"+p.listen+path)
		outputs = append(outputs, text)
	}
	r.mu.Lock()
	outputs = append(outputs, r.out...)
	r.mu.Unlock()
	for _, text := range outputs {
		for secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("a secret in %q", text)
			}
		}
		if strings.Contains(text, "PRIVATE KEY") {
			t.Errorf("a key in %q", text)
		}
	}
}

func TestKeyFilesAreInMemoryAndPrivate(t *testing.T) {
	p := newPod(t, "good", identity.HandlerOptions{})
	r := p.start(t, "0")
	eventually(t, "the proxy starts", func() bool { return r.logged("started") })
	info, err := os.Stat(p.certs + "/tls.key")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the key file: %v, %v", info.Mode(), err)
	}
	found := 0
	err = filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if text, readErr := os.ReadFile(path); readErr == nil && strings.Contains(string(text), "PRIVATE KEY") {
			found++
		}
		return err
	})
	if err != nil || found > 0 {
		t.Errorf("%d keys outside of the certificate folder, %v", found, err)
	}

	p = newPod(t, "good", identity.HandlerOptions{})
	if p.certs = t.TempDir(); isMemoryFS(p.certs) {
		t.Skip("temporary files are in memory here")
	}
	r = p.start(t, "0")
	if code := r.exitCode(t); code != 1 || !r.logged("medium Memory") || r.logged("started") {
		t.Errorf("with a certificate folder on disk: code %d, %q", code, r.out)
	}
	if left, err := os.ReadDir(p.certs); err != nil || len(left) > 0 {
		t.Errorf("files %v in the folder on disk, %v", left, err)
	}
}

// The roots of the last certificate take precedence over the roots of the injection, which may be retired, unless
// they are invalid.
func TestLatestRootsArePreferred(t *testing.T) {
	for name, c := range map[string]struct {
		written func(now *identity.CA) []byte
		works   bool
	}{
		"no roots":      {func(*identity.CA) []byte { return nil }, false},
		"invalid roots": {func(*identity.CA) []byte { return []byte("invalid") }, false},
		"new roots":     {func(now *identity.CA) []byte { return now.Bundle().PEM() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, "good", identity.HandlerOptions{})
			retired, err := identity.NewCA("cluster.local")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p.dir+"/root.pem", retired.Bundle().PEM(), 0o600); err != nil {
				t.Fatal(err)
			}
			if text := c.written(p.ca.Current()); text != nil {
				if err := writeFiles(p.certs, map[string][]byte{rootsFile: text}, owner); err != nil {
					t.Fatal(err)
				}
			}
			r := p.start(t, "0")
			if c.works {
				eventually(t, "the proxy starts", func() bool { return r.logged("started") })
				return
			}
			eventually(t, "the server is not trusted", func() bool { return r.logged("signed by unknown authority") })
		})
	}
}
