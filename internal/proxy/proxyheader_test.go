package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"anymesh.dev/anymesh/internal/proxy/proxyprotocol"
)

// The addresses of a header of the PROXY protocol are those of the metadata, and are told to the endpoint; connections
// without a header are closed.
func TestProxyProtocol(t *testing.T) {
	headers := make(chan proxyprotocol.Header, 10)
	up := listen(t, func(c *net.TCPConn) {
		h, err := proxyprotocol.Read(c)
		if err == nil {
			headers <- h
		}
		_, _ = io.Copy(c, c)
	})
	at := start(t, `
listeners:
- name: in
  spec: {protocol: TCP, port: $IN, address: 127.0.0.1, proxy_protocol: true}
  rules:
  - match: {op: test, path: /IP/src_addr, value: 10.0.0.1}
    action: {route: {destination: {spec: {protocol: TCP, port: `+up+`, proxy_protocol: 2}, endpoints: [{spec: {address: 127.0.0.1}}]}}}
  - match: {op: test, path: /TCP/src_port, value: 77}
    action: {route: {destination: {spec: {protocol: TCP, port: `+up+`, proxy_protocol: 1}, endpoints: [{spec: {address: 127.0.0.1}}]}}}
`, "IN")
	for version, source := range map[int]string{1: "[2001:db8::1]:77", 2: "10.0.0.1:5"} {
		from, to := netip.MustParseAddrPort(source), netip.MustParseAddrPort(source)
		c := dial(t, "tcp", at["IN"])
		_, _ = c.Write(append(proxyprotocol.Append(nil, version, from, to), "hello"...))
		b := make([]byte, 5)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
			t.Fatalf("got %q, error %v", b, err)
		}
		if h := <-headers; h != (proxyprotocol.Header{Version: version, Source: from, Destination: to}) {
			t.Errorf("the endpoint got %v", h)
		}
	}
	c := dial(t, "tcp", at["IN"])
	_, _ = io.WriteString(c, "hello, hello, hello")
	if all, _ := io.ReadAll(c); len(all) > 0 {
		t.Errorf("without a header: got %q", all)
	}
}

// An endpoint of HTTP learns the address of the client of each request, also on connections that clients share.
func TestProxyProtocolOfHTTP(t *testing.T) {
	up := listen(t, func(c *net.TCPConn) {
		h, err := proxyprotocol.Read(c)
		if err != nil {
			return
		}
		r := bufio.NewReader(c)
		for {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			from := h.Source.String()
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(from), from)
		}
	})
	at := start(t, `
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1}
  rules: [{action: {route: {destination: {spec: {protocol: HTTP, port: `+up+`, proxy_protocol: 2}, endpoints: [{spec: {address: 127.0.0.1}}]}}}}]
`, "IN")
	for range 3 {
		c := dial(t, "tcp", at["IN"])
		r := bufio.NewReader(c)
		for range 3 {
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			response, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, _ := io.ReadAll(response.Body); string(body) != c.LocalAddr().String() {
				t.Errorf("a client at %s: the endpoint learns %s", c.LocalAddr(), body)
			}
		}
	}
}
