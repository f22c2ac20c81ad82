package proxy_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/test/freeport"
)

// httpServer returns the port of a server.
func httpServer(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return portOf(s.Listener.Addr())
}

const httpConfig = `
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1}
  rules:
  - match: {op: starts, path: /HTTP/url/path, value: /a}
    action: {route: {destination: a, retry: {retry_on: always, num_retries: 2, timeout: 1000}}}
  - match: {op: test, path: /HTTP/headers/x-to, value: b}
    action:
      rewrite: [{path: /HTTP/headers/x-new, value: "1"}, {path: /HTTP/url/path, value: /rewritten}]
      route: {destination: b}
clusters:
- {name: a, spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}
- {name: b, spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}
`

func startHTTP(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	server := httpServer(t, h)
	return "http://" + start(t, fmt.Sprintf(httpConfig, server, server), "IN")["IN"]
}

func do(t testing.TB, r *http.Request) (*http.Response, string) {
	t.Helper()
	response, err := (&http.Client{Timeout: patience}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func request(t testing.TB, method, url string, body io.Reader, fields ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// Rules choose the cluster; rewrites change what is forwarded; without a rule the answer is 404.
func TestHTTPRouting(t *testing.T) {
	url := startHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s", r.Method, r.RequestURI, r.Header.Get("X-New"))
	})
	for _, c := range []struct{ path, field, want string }{
		{"/a/b?c=d", "x: y", "200 GET /a/b?c=d "},
		{"/b", "X-To: b", "200 GET /rewritten 1"},
		{"/b", "X-To: c", "404 No route for session"},
	} {
		response, body := do(t, request(t, "GET", url+c.path, nil, c.field))
		if got := fmt.Sprint(response.StatusCode, " ", body); !strings.Contains(strings.Replace(got, "{\n", "", 1), c.want) &&
			!(response.StatusCode == 404 && strings.Contains(body, "No route for session")) {
			t.Errorf("%s: got %q, want %q", c.path, got, c.want)
		}
	}
}

// An idle connection that the server has closed costs no request; neither does a server that resets once.
func TestHTTPRetry(t *testing.T) {
	var requests atomic.Int32
	url := startHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1); r.URL.Path == "/a/reset" && r.Header.Get("X-Seen") == "" && requests.Load()%2 == 1 {
			panic(http.ErrAbortHandler)
		}
		if r.URL.Path == "/a/close" {
			w.Header().Set("Connection", "close")
		}
		fmt.Fprint(w, "ok")
	})
	for range 20 {
		for _, path := range []string{"/a/close", "/a", "/a/reset"} {
			if response, body := do(t, request(t, "GET", url+path, nil)); body != "ok" {
				t.Errorf("%s: got %d %s", path, response.StatusCode, body)
			}
		}
	}
	// A request that is not idempotent is not sent twice.
	requests.Store(0)
	if response, _ := do(t, request(t, "POST", url+"/a/reset", strings.NewReader("x"))); response.StatusCode != 503 || requests.Load() != 1 {
		t.Errorf("POST: got status %d after %d requests", response.StatusCode, requests.Load())
	}
}

// Each kind of failure has a status of its own.
func TestHTTPFailures(t *testing.T) {
	text := `
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1}
  rules:
  - {match: {op: test, path: /HTTP/url/path, value: /refused}, action: {route: {destination: {spec: {protocol: HTTP, port: $DEAD}, endpoints: [{spec: {address: 127.0.0.1}}]}}}}
  - {match: {op: test, path: /HTTP/url/path, value: /empty}, action: {route: {destination: {spec: {protocol: HTTP, port: 1}}}}}
  - {match: {op: test, path: /HTTP/url/path, value: /missing}, action: {route: {destination: nothing}}}
  - {match: {op: test, path: /HTTP/url/path, value: /route}, action: {route: nothing}}
`
	url := "http://" + start(t, text, "IN", "DEAD")["IN"]
	for path, want := range map[string]int{"/refused": 503, "/empty": 503, "/missing": 503, "/route": 404, "/": 404} {
		response, body := do(t, request(t, "GET", url+path, nil))
		if response.StatusCode != want || !strings.Contains(body, fmt.Sprintf(`"status": %d`, want)) {
			t.Errorf("%s: got %d %s", path, response.StatusCode, body)
		}
	}
}

// A proxy that drains answers the requests that it has, and accepts no more.
func TestDrain(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	server := httpServer(t, func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-release
		fmt.Fprint(w, "ok")
	})
	port := freeport.Port(t)
	text := strings.ReplaceAll(httpConfig, "$IN", fmt.Sprint(port))
	value, err := config.ParseYAML(fmt.Appendf(nil, text, server, server))
	if err != nil {
		t.Fatal(err)
	}
	c := new(config.Config)
	if err := config.Decode("", value, c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := proxy.New(ctx, slog.New(slog.NewTextHandler(t.Output(), nil)))
	defer p.Wait()
	defer cancel()
	if err := p.Apply(c); err != nil {
		t.Fatal(err)
	}
	idle := dial(t, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	busy := dial(t, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	_, _ = io.WriteString(busy, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	<-begun
	drained := make(chan struct{})
	go func() {
		p.Drain(ctx)
		close(drained)
	}()
	if all, _ := io.ReadAll(idle); len(all) > 0 {
		t.Errorf("an idle connection got %q", all)
	}
	close(release)
	all, err := io.ReadAll(busy)
	if err != nil || !strings.Contains(string(all), "200 OK") || !strings.Contains(string(all), "Connection: close") {
		t.Errorf("got %q, error %v", all, err)
	}
	<-drained
}
