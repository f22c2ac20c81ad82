package proxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const rulesConfig = `
listeners:
- {name: in, spec: {protocol: HTTP, port: $IN, address: 127.0.0.1, canonical: true}, rules: byhost}
- {name: stats, spec: {protocol: HTTP, port: $STATS, address: 127.0.0.1}, rules: [{action: {route: {destination: {spec: {protocol: Prometheus}}}}}]}
rulelists:
- name: byhost
  hosts:
  - {hosts: [Repeat.example, "repeat.example:*"], rules: repeat}
  - {hosts: [exact.example], rules: exact}
  - {hosts: [slow.example], rules: slow}
  rules: []
- {name: repeat, rules: [{action: {route: {destination: a, metrics: {service: s.example, route: r}, retry: {num_retries: 2, reset: true, exact: true, backoff: 1, grpc_statuses: [14]}}}}]}
- {name: exact, rules: [{match: {op: starts, path: /HTTP/url/path, value: /guarded}, action: {route: {destination: a, retry: {num_retries: 0, exact: true}}}}]}
- {name: slow, rules: [{action: {route: {destination: a, timeouts: {idle: 1000}}}}]}
clusters:
- {name: a, spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}
`

// The host chooses the rule list, in any case, and with the port that the list allows.
func TestRulesByHost(t *testing.T) {
	server := httpServer(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host, " ", r.RequestURI) })
	url := "http://" + start(t, fmt.Sprintf(rulesConfig, server), "IN", "STATS")["IN"]
	for _, c := range []struct{ host, path, want string }{
		{"REPEAT.example", "/", "200 REPEAT.example /"},
		{"repeat.example:1", "/a/../b", "200 repeat.example:1 /b"},
		{"exact.example.", "/x/%2e%2E//guarded/y", "200 exact.example /guarded/y"},
		{"exact.example", "/other", "404"},
		{"exact.example:80", "/guarded", "404"},
		{"unknown.example", "/", "404"},
		{"exact.example", "/guarded%00", "400"},
	} {
		r := request(t, "GET", url, nil)
		r.URL.Opaque, r.Host = c.path, c.host
		response, body := do(t, r)
		if got := fmt.Sprint(response.StatusCode, " ", body); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s%s: got %q, want %q", c.host, c.path, got, c.want)
		}
	}
}

// With reset, every request is sent again that got no response, and is small; with exact, none is sent again but by the
// rules, also if an idle connection has lost it.
func TestRetriesAfterResets(t *testing.T) {
	var requests atomic.Int32
	server := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		if n := requests.Add(1); r.URL.Path == "/guarded/reset" || r.URL.Path == "/reset" && n < 3 {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "ok")
	})
	url := "http://" + start(t, fmt.Sprintf(rulesConfig, server), "IN", "STATS")["IN"]
	for _, c := range []struct {
		host, path string
		size       int
		status     int
		requests   int32
	}{
		{"exact.example", "/guarded/reset", 0, 503, 1},
		{"repeat.example", "/reset", 10, 200, 3},
		{"repeat.example", "/reset", 10_000, 200, 3},
		{"exact.example", "/guarded", 0, 200, 1}, // its connection is idle now
		{"exact.example", "/guarded/reset", 0, 503, 1},
	} {
		requests.Store(0)
		method, body := "GET", ""
		if c.size > 0 {
			method, body = "POST", strings.Repeat("x", c.size)
		}
		for _, chunked := range []bool{false, true} {
			if chunked && c.size == 0 {
				continue
			}
			requests.Store(0)
			r := request(t, method, url+c.path, strings.NewReader(body))
			if r.Host = c.host; chunked {
				r.ContentLength = -1
			}
			response, text := do(t, r)
			if response.StatusCode != c.status || requests.Load() != c.requests {
				t.Errorf("%s%s with %d bytes, chunked %t: got %d %s after %d requests", c.host, c.path, c.size, chunked,
					response.StatusCode, text, requests.Load())
			}
		}
	}
}

// The idle timeout answers with 504 before the response, and ends the connection within it.
func TestIdleTimeoutAnswers(t *testing.T) {
	release := make(chan struct{})
	server := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" {
			fmt.Fprint(w, "begun")
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(release) })
	url := "http://" + start(t, fmt.Sprintf(rulesConfig, server), "IN", "STATS")["IN"]
	r := request(t, "GET", url+"/", nil)
	r.Host = "slow.example"
	if response, body := do(t, r); response.StatusCode != 504 {
		t.Errorf("got %d %s", response.StatusCode, body)
	}
	r = request(t, "GET", url+"/begun", nil)
	r.Host = "slow.example"
	response, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	buffer := make([]byte, 100)
	for err == nil {
		_, err = response.Body.Read(buffer)
	}
	if !strings.Contains(err.Error(), "EOF") || response.StatusCode != 200 {
		t.Errorf("got %d, %v", response.StatusCode, err)
	}
}

// Requests are counted with the labels of their route.
func TestRouteMetrics(t *testing.T) {
	server := httpServer(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) })
	at := start(t, fmt.Sprintf(rulesConfig, server), "IN", "STATS")
	for range 3 {
		r := request(t, "GET", "http://"+at["IN"]+"/", nil)
		r.Host = "repeat.example"
		do(t, r)
	}
	until(t, "the metrics have the requests", func() bool {
		_, body := do(t, request(t, "GET", "http://"+at["STATS"]+"/metrics", nil))
		return strings.Contains(body, `route_responses_total{anymesh_service="s.example",anymesh_route="r",class="4"} 3`+"\n") &&
			strings.Contains(body, `route_request_duration_seconds_count{anymesh_service="s.example",anymesh_route="r"} 3`+"\n") &&
			strings.Contains(body, `route_retries_total{anymesh_service="s.example",anymesh_route="r"} 0`+"\n")
	})
}

const redirectConfig = `
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1, canonical: true}
  rules:
  - {match: {op: starts, path: /HTTP/url/path, value: /moved}, action: {redirect: {scheme: https, host: "other.example:8443", status: 301}}}
  - action: {redirect: {scheme: http, host: shop.example}}
- {name: streams, spec: {protocol: TCP, port: $STREAMS, address: 127.0.0.1}, rules: [{action: {redirect: {scheme: http, host: shop.example}}}]}
`

// A redirect keeps the path and the query, and the connection; sessions of other protocols end.
func TestRedirect(t *testing.T) {
	at := start(t, redirectConfig, "IN", "STREAMS")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, c := range []struct {
		method, path, location string
		status                 int
	}{
		{"GET", "/moved/a%20b?x=1&y", "https://other.example:8443/moved/a%20b?x=1&y", 301},
		{"POST", "/a/../b", "http://shop.example/b", 308},
		{"HEAD", "/", "http://shop.example/", 308},
	} {
		r := request(t, c.method, "http://"+at["IN"], strings.NewReader("body"))
		r.URL.Opaque = c.path
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if got := response.Header.Get("Location"); response.StatusCode != c.status || got != c.location {
			t.Errorf("%s %s: got %d %q", c.method, c.path, response.StatusCode, got)
		}
	}
	if _, err := dial(t, "tcp", at["STREAMS"]).Read(make([]byte, 1)); err == nil {
		t.Error("the session of a stream does not end")
	}
}
