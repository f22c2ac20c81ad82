package proxy_test

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

// read returns the bytes that the process has read by system calls. What splice moves is not among them.
func (p *process) read(t *testing.T) int {
	t.Helper()
	first, _, _ := strings.Cut(p.file(t, "io"), "\n")
	n, err := strconv.Atoi(strings.TrimPrefix(first, "rchar: "))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The kernel moves the data of TCP sessions in both directions: the proxy reads none of it. Data that passes through a
// chain is read.
func TestSplice(t *testing.T) {
	const size = 32 << 20
	up := listen(t, func(c *net.TCPConn) {
		_, _ = io.CopyN(io.Discard, c, size)
		_, _ = io.CopyN(c, zeros{}, size)
	})
	p := startProcess(t, `
listeners:
- {name: tcp, spec: {protocol: TCP, port: $TCP, address: 127.0.0.1}, rules: [{action: {route: {destination: tcp}}}]}
- {name: chain, spec: {protocol: TCP, port: $CHAIN, address: 127.0.0.1}, rules: [{action: {route: {destination: tcp, ingress: [{spec: {protocol: Metric}}]}}}]}
clusters:
- {name: tcp, spec: {protocol: TCP, port: `+up+`}, endpoints: [{spec: {address: 127.0.0.1}}]}
`, "TCP", "CHAIN")
	exchange := func(port string) {
		c := dial(t, "tcp", p.at[port])
		_, _ = io.CopyN(c, zeros{}, size)
		if n, err := io.Copy(io.Discard, c); n != size || err != nil {
			t.Errorf("%s: got %d bytes, error %v", port, n, err)
		}
	}
	for port, copies := range map[string]bool{"TCP": false, "CHAIN": true} {
		before := p.read(t)
		exchange(port)
		if n := p.read(t) - before; n > size/4 != copies {
			t.Errorf("%s: the proxy read %d bytes of %d", port, n, 2*size)
		}
	}
}

// zeros has zeros without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
