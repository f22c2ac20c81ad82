package proxy_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A mirror gets the requests that the endpoint gets; its failures change nothing.
func TestMirror(t *testing.T) {
	up := httpServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	copies := make(chan string, 10)
	shadow := http2Server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		copies <- fmt.Sprint(r.Proto, " ", r.Method, " ", r.URL, " ", string(body))
		w.WriteHeader(500)
	})
	url := "http://" + start(t, fmt.Sprintf(routeConfig, `mirrors: [
    {destination: {spec: {protocol: HTTP, port: `+shadow+`, http2: true}, endpoints: [{spec: {address: 127.0.0.1}}]}},
    {destination: missing}, {destination: {spec: {protocol: HTTP, port: 1}}}, {destination: none, percent: 0}]`, up), "IN")["IN"]
	for i := range 5 {
		response, body := do(t, request(t, "POST", url+"/a", strings.NewReader(fmt.Sprint("body ", i))))
		if response.StatusCode != 200 || body != fmt.Sprint("body ", i) {
			t.Errorf("got status %d %q", response.StatusCode, body)
		}
		if got, want := <-copies, fmt.Sprintf("HTTP/2.0 POST /a body %d", i); got != want {
			t.Errorf("the mirror got %q, want %q", got, want)
		}
	}
}

// Sessions are copied, too: bytes and messages.
func TestMirrorOfSessions(t *testing.T) {
	up := listen(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	copies := make(chan string, 1)
	shadow := listen(t, func(c *net.TCPConn) {
		all, _ := io.ReadAll(c)
		copies <- string(all)
	})
	at := start(t, strings.Replace(fmt.Sprintf(tcpConfig, up), "{destination: up}", `{destination: up, mirrors: [{destination: {spec: {protocol: TCP, port: `+
		shadow+`}, endpoints: [{spec: {address: 127.0.0.1}}]}}]}`, 1), "IN")
	c := dial(t, "tcp", at["IN"])
	_, _ = io.WriteString(c, "hello")
	_ = c.(*net.TCPConn).CloseWrite()
	if all, err := io.ReadAll(c); string(all) != "hello" || err != nil {
		t.Errorf("got %q, error %v", all, err)
	}
	if got := <-copies; got != "hello" {
		t.Errorf("the mirror got %q", got)
	}
}

// A session and a route tell that messages lose their boundaries.
func TestBoundaryWarnings(t *testing.T) {
	up := listen(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	at := start(t, strings.TrimSpace(apiConfig)+`
- {name: in, spec: {protocol: UDP, port: $IN, address: 127.0.0.1}, rules: [{action: {route: r}}]}
routes:
- {name: r, destination: tcp, ingress: [{name: encap, spec: {protocol: JSONEncap}}]}
- {name: fine, destination: tcp, ingress: [{name: echo, spec: {protocol: Echo}}]}
clusters: [{name: tcp, spec: {protocol: TCP, port: `+up+`}, endpoints: [{spec: {address: 127.0.0.1}}]}]
`, "API", "IN")
	api := client{t, "http://" + at["API"] + "/api/v1/"}
	c := dial(t, "udp", at["IN"])
	_, _ = io.WriteString(c, "x")
	if _, err := c.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	const want = `lose their boundaries`
	if got := api.get("sessions"); !strings.Contains(got, want) || !strings.Contains(got, `"WARNING"`) {
		t.Errorf("the session has no warning: %s", got)
	}
	if got := api.get("routes/r"); !strings.Contains(got, want) {
		t.Errorf("the route has no warning: %s", got)
	}
	if got := api.get("routes/fine"); strings.Contains(got, "warning") {
		t.Errorf("a route without bytes: %s", got)
	}
}
