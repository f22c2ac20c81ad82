package agent

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/test/freeport"
)

// With a lifetime of seconds the certificate is renewed while the proxy runs. A reader through ..data always gets a
// matching pair.
func TestCertificateIsRenewed(t *testing.T) {
	p := newPod(t, "good", identity.HandlerOptions{Lifetime: 3 * time.Second})
	r := p.start(t, "0")
	eventually(t, "the proxy starts", func() bool { return r.logged("started") })
	seen := map[string]bool{}
	eventually(t, "a second renewal", func() bool {
		version, err := os.Readlink(p.certs + "/..data")
		if err != nil {
			t.Fatal(err)
		}
		if !seen[version] {
			pair, err := tls.LoadX509KeyPair(p.certs+"/tls.crt", p.certs+"/tls.key")
			if err != nil {
				t.Fatal(err)
			}
			if time.Now().After(pair.Leaf.NotAfter) {
				t.Error("the certificate is expired")
			}
			seen[version] = true
		}
		return len(seen) == 3
	})
	eventually(t, "old keys are deleted", func() bool {
		old, err := filepath.Glob(p.certs + "/" + dataPrefix + "*")
		return err == nil && len(old) == 1
	})
	if r.logged("terminated") {
		t.Error("the proxy was stopped")
	}
}

// Without the signing server, a restarted proxy uses the cached certificate. An invalid cached certificate is not
// used.
func TestRestartWithoutSigningServer(t *testing.T) {
	p := newPod(t, "good", identity.HandlerOptions{})
	first := p.start(t, "0")
	eventually(t, "the proxy starts", func() bool { return first.logged("started") })
	before, err := os.ReadFile(p.certs + "/tls.crt")
	if err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Process.Kill()
	<-first.done
	signing := p.signing
	p.signing = "https://" + freeport.Address(t)
	second := p.start(t, "0")
	eventually(t, "the proxy starts without the signing server", func() bool { return second.logged("started") })
	if now, err := os.ReadFile(p.certs + "/tls.crt"); err != nil || string(now) != string(before) {
		t.Errorf("different certificate: %v\n%s", err, now)
	}
	_ = second.cmd.Process.Kill()
	<-second.done
	p.signing = signing
	third := p.start(t, "0")
	eventually(t, "a new certificate is requested", func() bool {
		now, err := os.ReadFile(p.certs + "/tls.crt")
		return err == nil && string(now) != string(before)
	})
	_ = third.cmd.Process.Kill()
	<-third.done
	if err := os.WriteFile(p.certs+"/tls.crt", before, 0o600); err != nil { // does not match the key
		t.Fatal(err)
	}
	p.signing = "https://" + freeport.Address(t)
	fourth := p.start(t, "0")
	eventually(t, "a certificate is requested", func() bool { return fourth.logged("certificate request failed") })
	if fourth.logged("started") {
		t.Error("the proxy was started with a certificate that does not match its key")
	}
}
