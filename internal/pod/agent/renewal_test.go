package agent

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/identity"
)

// With a lifetime of seconds the certificate is replaced while the proxy runs;
// whoever reads key and certificate by way of ..data gets a pair each time.
func TestRenewal(t *testing.T) {
	p := newPod(t, "good", identity.HandlerOptions{Lifetime: 3 * time.Second})
	r := p.start(t, "0")
	eventually(t, "the proxy starts", func() bool { return r.said("started") })
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
				t.Error("it had expired")
			}
			seen[version] = true
		}
		return len(seen) == 3
	})
	eventually(t, "old keys are deleted", func() bool {
		old, err := filepath.Glob(p.certs + "/" + dataPrefix + "*")
		return err == nil && len(old) == 1
	})
	if r.said("terminated") {
		t.Error("the proxy was stopped")
	}
}

// A proxy that crashed while nobody signs comes back with the certificate that the pod has. One that is of no use is not begun with.
func TestRestartWhileNobodySigns(t *testing.T) {
	p := newPod(t, "good", identity.HandlerOptions{})
	first := p.start(t, "0")
	eventually(t, "the proxy starts", func() bool { return first.said("started") })
	before, err := os.ReadFile(p.certs + "/tls.crt")
	if err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Process.Kill()
	<-first.done
	signing := p.signing
	p.signing = "https://" + freeAddress(t)
	second := p.start(t, "0")
	eventually(t, "the proxy starts without anybody who signs", func() bool { return second.said("started") })
	if now, err := os.ReadFile(p.certs + "/tls.crt"); err != nil || string(now) != string(before) {
		t.Errorf("another certificate: %v\n%s", err, now)
	}
	_ = second.cmd.Process.Kill()
	<-second.done
	p.signing = signing
	third := p.start(t, "0")
	eventually(t, "a new certificate is asked for", func() bool {
		now, err := os.ReadFile(p.certs + "/tls.crt")
		return err == nil && string(now) != string(before)
	})
	_ = third.cmd.Process.Kill()
	<-third.done
	if err := os.WriteFile(p.certs+"/tls.crt", before, 0o600); err != nil { // it does not fit the key
		t.Fatal(err)
	}
	p.signing = "https://" + freeAddress(t)
	fourth := p.start(t, "0")
	eventually(t, "the signing server is asked", func() bool { return fourth.said("no certificate yet") })
	if fourth.said("started") {
		t.Error("the proxy was started with a certificate that does not fit its key")
	}
}
