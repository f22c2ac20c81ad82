package proxy_test

import (
	"io"
	"net/http"
	"testing"

	"anymesh.dev/anymesh/test/h2spec"
)

// h2specExceptions lists the cases that are not run, with the reason.
var h2specExceptions = map[string]string{
	"http2/3.5/2": "a listener without TLS also serves HTTP/1: an invalid preface is an invalid request of HTTP/1 and gets " +
		"the status 400 before the connection is closed. TestInvalidPreface covers the rule for connections with HTTP/2",
}

// TestH2spec runs the conformance tests of HTTP/2 against a listener.
func TestH2spec(t *testing.T) {
	up := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(make([]byte, 100))
	})
	at := start(t, `
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1}
  rules: [{action: {route: {destination: {spec: {protocol: HTTP, port: `+up+`}, endpoints: [{spec: {address: 127.0.0.1}}]}}}}]
`, "IN")
	h2spec.Run(t, func(id string) (address, skip string) { return at["IN"], h2specExceptions[id] })
}
