package proxy_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
)

// Standard input and output are a session of a listener, with half-close, and a cluster for sessions.
func TestStdio(t *testing.T) {
	up := listen(t, func(c *net.TCPConn) {
		all, _ := io.ReadAll(c)
		_, _ = io.WriteString(c, strings.ToUpper(string(all)))
	})
	p := startProcess(t, `
listeners: [{name: in, spec: {protocol: Stdio}, rules: [{action: {route: {destination: up}}}]}]
clusters: [{name: up, spec: {protocol: TCP, port: `+up+`}, endpoints: [{spec: {address: 127.0.0.1}}]}]
`)
	_, _ = io.WriteString(p.in, "hello")
	_ = p.in.Close()
	if got, err := io.ReadAll(p.out); string(got) != "HELLO" || err != nil {
		t.Errorf("the listener: got %q, error %v", got, err)
	}
	p = startProcess(t, `
listeners:
- {name: in, spec: {protocol: TCP, port: $IN, address: 127.0.0.1}, rules: [{action: {route: {destination: {spec: {protocol: Stdio}}}}}]}
- {name: ready, spec: {protocol: TCP, port: $READY, address: 127.0.0.1}, rules: []}
`, "IN", "READY")
	c := dial(t, "tcp", p.at["IN"])
	_, _ = io.WriteString(c, "to output\n")
	if got, err := bufio.NewReader(p.out).ReadString('\n'); got != "to output\n" {
		t.Errorf("the cluster: got %q, error %v", got, err)
	}
	_, _ = io.WriteString(p.in, "to the client\n")
	if got, err := bufio.NewReader(c).ReadString('\n'); got != "to the client\n" {
		t.Errorf("the client: got %q, error %v", got, err)
	}
}
