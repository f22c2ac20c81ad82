package proxy_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const routeConfig = `
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1}
  rules: [{action: {route: {destination: up, %s}}}]
clusters:
- {name: up, spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}
`

// A request ends with the timeout of its route: with a response if it has none yet, else with its connection.
func TestRequestTimeout(t *testing.T) {
	up := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" {
			_, _ = io.WriteString(w, "begun")
			_ = http.NewResponseController(w).Flush()
		}
		if r.URL.Path != "/quick" {
			<-r.Context().Done()
		}
	})
	url := "http://" + start(t, fmt.Sprintf(routeConfig, "timeouts: {request: 300}", up), "IN")["IN"]
	for range 2 {
		if response, _ := do(t, request(t, "GET", url+"/quick", nil)); response.StatusCode != 200 {
			t.Errorf("a quick request: got status %d", response.StatusCode)
		}
		if response, body := do(t, request(t, "GET", url+"/slow", nil)); response.StatusCode != 504 {
			t.Errorf("a slow request: got status %d %s", response.StatusCode, body)
		}
	}
	response, err := http.Get(url + "/begun")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); string(body) != "begun" || err == nil {
		t.Errorf("got %q, error %v", body, err)
	}
}

// An attempt that takes too long, or whose status the route names, is repeated.
func TestRetriesByRoute(t *testing.T) {
	var requests atomic.Int32
	up := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if requests.Add(1) < 3 {
			switch r.URL.Path {
			case "/status":
				w.WriteHeader(503)
				return
			case "/grpc":
				w.Header().Set("Grpc-Status", "14")
				return
			case "/slow":
				<-r.Context().Done()
			}
		}
		_, _ = w.Write(body)
	})
	const policy = "timeouts: {attempt: 200}, retry: {num_retries: 3, backoff: 1, statuses: [503, 504], grpc_statuses: [14]}"
	url := "http://" + start(t, fmt.Sprintf(routeConfig, policy, up), "IN")["IN"]
	for _, path := range []string{"/status", "/grpc", "/slow"} {
		requests.Store(0)
		response, body := do(t, request(t, "POST", url+path, strings.NewReader("body")))
		if response.StatusCode != 200 || body != "body" || requests.Load() != 3 {
			t.Errorf("%s: got status %d %q after %d requests", path, response.StatusCode, body, requests.Load())
		}
	}
	requests.Store(-100)
	if response, _ := do(t, request(t, "GET", url+"/status", nil)); response.StatusCode != 503 || requests.Load() != -96 {
		t.Errorf("without success: got status %d after %d requests", response.StatusCode, requests.Load()+100)
	}
}

// A session in which nothing moves ends; one that moves bytes by the kernel does not.
func TestIdleTimeout(t *testing.T) {
	up := listen(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	at := start(t, strings.Replace(fmt.Sprintf(tcpConfig, up), "{destination: up}",
		"{destination: up, timeouts: {idle: 400}}", 1), "IN")
	c := dial(t, "tcp", at["IN"])
	for range 20 {
		b := []byte("x")
		_, _ = c.Write(b)
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // the session is not idle for long
	}
	if n, err := c.Read(make([]byte, 1)); err == nil || n > 0 {
		t.Errorf("got %d bytes, error %v", n, err)
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the session does not end")
	}
}
