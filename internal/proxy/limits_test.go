package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const limitsConfig = `
listeners:
- {name: web, spec: {protocol: HTTP, port: $WEB, address: 127.0.0.1}, rules: [{action: {route: {destination: web, timeouts: {request: 60000}}}}]}
- {name: stats, spec: {protocol: HTTP, port: $STATS, address: 127.0.0.1}, rules: [{action: {route: {destination: {spec: {protocol: Prometheus}}}}}]}
- {name: tcp, spec: {protocol: TCP, port: $TCP, address: 127.0.0.1}, rules: [{action: {route: {destination: tcp, retry: {retry_on: never, num_retries: 0}}}}]}
- name: rated
  spec: {protocol: HTTP, port: $RATED, address: 127.0.0.1}
  rules:
  - match: {op: starts, path: /HTTP/url/path, value: /few}
    action: {route: {destination: web, rate: {limit: {count: 2, interval: 3600000}, status: 429, headers: [{name: x-limited, value: "yes"}]}}}
  - action: {route: {destination: web}}
- name: accepts
  spec: {protocol: HTTP, port: $ACCEPTS, address: 127.0.0.1}
  options: {connection_rate: {count: 1, burst: 1, interval: 3600000}}
  rules: [{action: {route: {destination: web}}}]
clusters:
- {name: web, spec: {protocol: HTTP, port: %[1]s}, endpoints: [{spec: {address: 127.0.0.1}}], limits: {connections: 1, waiting: 1, requests_per_connection: 2}}
- {name: tcp, spec: {protocol: TCP, port: %[1]s}, endpoints: [{spec: {address: 127.0.0.1}}], limits: {connections: 1}}
`

// Requests beyond the connections of a cluster wait, up to a number; further ones, and sessions, fail. A request whose
// client is gone does not hold its connection.
func TestConnectionLimits(t *testing.T) {
	release, held := make(chan struct{}), make(chan string, 10)
	server := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			held <- r.RemoteAddr
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		fmt.Fprint(w, r.RemoteAddr)
	})
	at := start(t, fmt.Sprintf(limitsConfig, server), "WEB", "STATS", "TCP", "RATED", "ACCEPTS")
	active := func(cluster string, n int) {
		t.Helper()
		until(t, fmt.Sprintf("%d open of %s", n, cluster), func() bool {
			_, text := do(t, request(t, "GET", "http://"+at["STATS"]+"/metrics", nil))
			return strings.Contains(text, fmt.Sprintf("cluster_active{clusterName=%q} %d\n", cluster, n))
		})
	}
	first := dial(t, "tcp", at["WEB"])
	_, _ = io.WriteString(first, "GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
	<-held
	statuses := make(chan int, 1)
	go func() {
		response, err := http.Get("http://" + at["WEB"] + "/second")
		if err != nil {
			statuses <- 0
			return
		}
		_ = response.Body.Close()
		statuses <- response.StatusCode
	}()
	active("web", 2)
	if response, _ := do(t, request(t, "GET", "http://"+at["WEB"]+"/third", nil)); response.StatusCode != 503 {
		t.Errorf("got status %d for a request that may not wait", response.StatusCode)
	}
	_ = first.Close()
	if status := <-statuses; status != 200 {
		t.Errorf("got status %d for the request that waits", status)
	}
	active("web", 0)

	one := dial(t, "tcp", at["TCP"])
	_, _ = io.WriteString(one, "GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
	<-held
	other := dial(t, "tcp", at["TCP"])
	_ = other.SetReadDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(other, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if got, _ := io.ReadAll(other); len(got) > 0 {
		t.Errorf("got %q from a session beyond the limit", got)
	}
	close(release)
}

// Connections to endpoints serve as many requests as configured.
func TestRequestsPerConnection(t *testing.T) {
	server := httpServer(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RemoteAddr) })
	at := start(t, fmt.Sprintf(limitsConfig, server), "WEB", "STATS", "TCP", "RATED", "ACCEPTS")
	count := map[string]int{}
	for range 6 {
		_, from := do(t, request(t, "GET", "http://"+at["WEB"]+"/", nil))
		count[from]++
	}
	if len(count) != 3 {
		t.Errorf("6 requests have the connections %v", count)
	}
}

// Requests beyond the rate of a route, and connections beyond that of a listener, are refused.
func TestRates(t *testing.T) {
	server := httpServer(t, func(http.ResponseWriter, *http.Request) {})
	at := start(t, fmt.Sprintf(limitsConfig, server), "WEB", "STATS", "TCP", "RATED", "ACCEPTS")
	for i, want := range []int{200, 200, 429, 429} {
		response, _ := do(t, request(t, "GET", "http://"+at["RATED"]+"/few", nil))
		if response.StatusCode != want || (response.Header.Get("X-Limited") == "yes") != (want == 429) {
			t.Errorf("request %d: got %d with %v, want %d", i, response.StatusCode, response.Header, want)
		}
	}
	if response, _ := do(t, request(t, "GET", "http://"+at["RATED"]+"/many", nil)); response.StatusCode != 200 {
		t.Errorf("got %d for a route without a rate", response.StatusCode)
	}
	for i, want := range []bool{true, true, false} {
		c := dial(t, "tcp", at["ACCEPTS"])
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		if got, _ := io.ReadAll(c); strings.HasPrefix(string(got), "HTTP/1.1 200") != want {
			t.Errorf("connection %d: got %q", i, got)
		}
	}
}

// A client that has its response may send the next request: the one before does not count any more.
func TestRequestsOfOneClientAreNoneAtATime(t *testing.T) {
	server := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			_ = http.NewResponseController(w).Flush() // chunks
		}
		fmt.Fprint(w, "ok")
	})
	at := start(t, fmt.Sprintf(`
listeners: [{name: web, spec: {protocol: HTTP, port: $WEB, address: 127.0.0.1}, rules: [{action: {route: {destination: web}}}]}]
clusters: [{name: web, spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}], limits: {requests: 1}}]
`, server), "WEB")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // connections do not order the requests
	for i := range 2000 {
		path := []string{"/", "/stream"}[i%2]
		response, err := client.Get("http://" + at["WEB"] + path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Fatalf("request %d to %s has status %d", i, path, response.StatusCode)
		}
	}
}
