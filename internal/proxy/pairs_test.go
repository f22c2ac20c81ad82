package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
)

// pairConfig connects two protocols, through chains of pseudo clusters.
func pairConfig(in, out protocol, up, dir, chains string) string {
	return strings.ReplaceAll(fmt.Sprintf(`
listeners:
- name: in
  spec: %s
  rules:
  - action:
      rewrite: [{path: /labels/x, value: y}]
      route: {destination: up%s}
clusters:
- {name: up, spec: %s, endpoints: [{spec: {address: %q}}]}
`, in.listener, chains, strings.ReplaceAll(out.cluster, "$UP", up), out.address), "%s", dir)
}

// Each protocol as listener is connected with each one as cluster, without and with chains. Messages keep their limits
// where both ends have them; bytes arrive in order everywhere.
func TestPairs(t *testing.T) {
	for _, in := range protocols {
		for _, out := range protocols {
			for name, chains := range map[string]string{
				"plain": "", "chains": ", ingress: [{spec: {protocol: JSONEncap}}, {spec: {protocol: JSONDecap}}], egress: [{spec: {protocol: Echo}}, {spec: {protocol: Metric}}]",
			} {
				t.Run(in.name+" to "+out.name+", "+name, func(t *testing.T) { testPair(t, in, out, chains) })
			}
		}
	}
}

func testPair(t *testing.T, in, out protocol, chains string) {
	dir, err := os.MkdirTemp("", "") // paths of unix sockets are short, and have no commas in this configuration
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	up := out.serve(t, dir, func(p peer) {
		for {
			b, err := p.receive()
			if err != nil {
				return
			}
			if err := p.send(bytes.ToUpper(b)); err != nil {
				return
			}
		}
	})
	at := start(t, pairConfig(in, out, up, dir, chains), "IN")
	client := in.connect(t, at["IN"], dir)
	var sent, got []byte
	for i := range 20 {
		message := fmt.Appendf(nil, "<%0*d>", 1+i*50, i)
		if err := client.send(message); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, message...)
	}
	for pieces := 0; len(got) < len(sent); pieces++ {
		b, err := client.receive()
		if err != nil {
			t.Fatalf("after %d of %d bytes: %v", len(got), len(sent), err)
		}
		if in.messages && out.messages && (!bytes.HasPrefix(b, []byte("<")) || bytes.IndexByte(b, '>') != len(b)-1) {
			t.Fatalf("piece %d is no message: %q", pieces, b)
		}
		got = append(got, b...)
	}
	if string(got) != strings.ToUpper(string(sent)) {
		t.Errorf("got %q", got)
	}
}

// The end of what the client sends travels through chains, and the answer comes back.
func TestHalfCloseThroughChains(t *testing.T) {
	for _, out := range append(protocols[:3:3], protocols[len(protocols)-1]) {
		t.Run(out.name, func(t *testing.T) {
			dir := t.TempDir()
			up := out.serve(t, dir, func(p peer) {
				var all []byte
				for {
					b, err := p.receive()
					if err != nil || len(b) == 0 {
						break
					}
					all = append(all, b...)
				}
				_ = p.send(fmt.Appendf(nil, "%d bytes", len(all)))
			})
			in := protocols[0]
			at := start(t, pairConfig(in, out, up, dir, ", ingress: [{spec: {protocol: Echo}}], egress: [{spec: {protocol: Echo}}]"), "IN")
			c := dial(t, "tcp", at["IN"])
			_, _ = c.Write([]byte("hello"))
			_ = c.(*net.TCPConn).CloseWrite()
			if got, err := io.ReadAll(c); string(got) != "5 bytes" || err != nil {
				t.Errorf("got %q, error %v", got, err)
			}
		})
	}
}
