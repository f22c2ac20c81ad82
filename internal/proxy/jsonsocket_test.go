package proxy_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

const jsonSocketConfig = `
listeners:
- name: in
  spec: {protocol: JSONSocket, transport: {protocol: %s, port: $IN, address: 127.0.0.1}}
  rules:
  - match: {op: test, path: /JSONSocket/labels/to, value: echo}
    action: {route: {destination: {spec: {protocol: Echo}}}}
  - match: {op: test, path: /JSONSocket/labels/to, value: dead}
    action: {route: {destination: {spec: {protocol: TCP, port: $DEAD}, endpoints: [{spec: {address: 127.0.0.1}}]}}}
`

// Each header gets an answer with a status, and after 200 the data flows.
func TestJSONSocketHandshake(t *testing.T) {
	for _, transport := range []string{"UDP", "TCP"} {
		at := start(t, fmt.Sprintf(jsonSocketConfig, transport), "IN", "DEAD")
		for header, want := range map[string]string{
			`{"JSONSocketVersion": 1, "labels": {"to": "echo"}}`: `"JSONSocketStatus":200`,
			`{"JSONSocketVersion": 1, "labels": {"to": "none"}}`: `"JSONSocketMessage":"No route for session","JSONSocketStatus":404`,
			`{"JSONSocketVersion": 1, "labels": {"to": "dead"}}`: `"JSONSocketStatus":502`,
			`{"JSONSocketVersion": 2}`:                           `"JSONSocketStatus":505`,
			`{"JSONSocketVersion": 0.5}`:                         `"JSONSocketStatus":400`,
			`{"JSONSocketVersion": "1"}`:                         `"JSONSocketStatus":400`,
			`{"labels": {}}`:                                     `"JSONSocketStatus":400`,
			`null`:                                               `"JSONSocketStatus":400`,
			`}`:                                                  `"JSONSocketStatus":400`,
		} {
			c := dial(t, strings.ToLower(transport), at["IN"])
			_, _ = io.WriteString(c, header)
			b := make([]byte, 1500)
			n, err := c.Read(b)
			if err != nil || !strings.Contains(string(b[:n]), want) {
				t.Errorf("%s, %s: got %q, error %v", transport, header, b[:n], err)
				continue
			}
			if strings.Contains(want, "200") {
				_, _ = io.WriteString(c, "data")
				if n, err = c.Read(b); err != nil || string(b[:n]) != "data" {
					t.Errorf("%s: got %q, error %v", transport, b[:n], err)
				}
			}
		}
	}
}

// Metadata travels in the header to the next proxy, over each transport, and data that follows at once is kept.
func TestJSONSocketHeader(t *testing.T) {
	for _, transport := range []string{"UDP", "TCP", "WebSocket"} {
		text := strings.ReplaceAll(`
listeners:
- name: first
  spec: {protocol: TCP, port: $IN, address: 127.0.0.1}
  rules: [{action: {rewrite: [{path: /labels/id, value: 7}], route: {destination: next}}}]
- name: second
  spec: {protocol: JSONSocket, transport: {protocol: T, port: $NEXT, address: 127.0.0.1}}
  rules: [{match: {op: and, apply: [{op: test, path: /JSONSocket/labels/id, value: 7}, {op: test, path: /JSONSocket/app, value: x}]}, action: {route: {destination: {spec: {protocol: Echo}}}}}]
clusters:
- name: next
  spec: {protocol: JSONSocket, transport: {protocol: T, port: $NEXT}, header: [{path: {from: /labels, to: /labels}}, {set: {key: /app, value: x}}]}
  endpoints: [{spec: {address: 127.0.0.1}}]
`, "protocol: T,", "protocol: "+transport+",")
		at := start(t, text, "IN", "NEXT")
		c := dial(t, "tcp", at["IN"])
		_, _ = io.WriteString(c, "early")
		b := make([]byte, 5)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "early" {
			t.Errorf("%s: got %q, error %v", transport, b, err)
		}
		if transport != "UDP" {
			_ = c.(*net.TCPConn).CloseWrite()
			if rest, err := io.ReadAll(c); len(rest) > 0 || err != nil {
				t.Errorf("%s: got %q, error %v", transport, rest, err)
			}
		}
	}
}
