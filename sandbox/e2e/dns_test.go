package e2e

import (
	"context"
	"strings"
	"testing"
)

// TestDNSRestart checks that names resolve again after CoreDNS is killed and started.
func TestDNSRestart(t *testing.T) {
	c := shared.clusters[1]
	must := func(args ...string) {
		t.Helper()
		if out, err := shared.run(args...); err != nil {
			t.Fatal(out, err)
		}
	}
	const ask = `import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.connect((sys.argv[1], 53))
s.send(bytes.fromhex("123401000001000000000000") + b"\x0akubernetes\x07default\x03svc\x07cluster\x05local\x00\x00\x01\x00\x01")
print(s.recv(512).hex())`
	service := c.kubectl(t, "get", "service", "-n", "kube-system", "kube-dns", "-o", "jsonpath={.spec.clusterIP}")
	resolve := func() error {
		_, err := shared.run("exec", "--cluster", c.name, "--", "python3", "-c", ask, service)
		return err
	}
	must("dns", "kill", "--cluster", c.name)
	eventually(t, "questions are refused", func(context.Context) error {
		err := resolve()
		return wantf(err != nil && strings.Contains(err.Error(), "refused"), "error %v", err)
	})
	must("dns", "start", "--cluster", c.name)
	if err := resolve(); err != nil {
		t.Error(err)
	}
}
