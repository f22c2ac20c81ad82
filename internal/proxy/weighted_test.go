package proxy_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

const weightedConfig = `
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1}
  rules: [{action: {route: {destinations: [%s], %s}}}]
clusters:
- {name: a, spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}
- {name: b, spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}
- {name: c, spec: {protocol: Echo}}
- {name: dead, spec: {protocol: HTTP, port: $DEAD}, endpoints: [{spec: {address: 127.0.0.1}}]}
`

// says returns the port of a server whose answers are the text.
func says(t *testing.T, text string) string {
	return httpServer(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
}

// answers returns how many of some requests have each status and answer.
func answers(t *testing.T, url string, requests int) map[string]int {
	t.Helper()
	count := map[string]int{}
	for range requests {
		response, body := do(t, request(t, "POST", url, strings.NewReader("echo")))
		if response.StatusCode != 200 {
			body = fmt.Sprint(response.StatusCode)
		}
		count[body]++
	}
	return count
}

// Clusters get their shares, whatever their protocols are. A cluster of the weight 0 gets nothing, and one that does
// not exist keeps its share, which fails.
func TestWeightedClusters(t *testing.T) {
	for _, c := range []struct {
		destinations string
		want         map[string]int // of 400 requests, with a wide margin
	}{
		{"{destination: a, weight: 3}, {destination: b}", map[string]int{"a": 300, "b": 100}},
		{"{destination: a, weight: 0}, {destination: b, weight: 5}", map[string]int{"b": 400}},
		{"{destination: a}, {destination: c}", map[string]int{"a": 200, "echo": 200}},
		{"{destination: a}, {destination: none}, {destination: b, weight: 2}", map[string]int{"a": 100, "b": 200, "503": 100}},
		{"{destination: {spec: {protocol: Discard}}, weight: 0}, {cluster: a}", map[string]int{"a": 400}},
	} {
		at := start(t, fmt.Sprintf(weightedConfig, c.destinations, "egress: []", says(t, "a"), says(t, "b")), "IN", "DEAD")
		got := answers(t, "http://"+at["IN"], 400)
		for answer, n := range got {
			if want := c.want[answer]; n < want-70 || n > want+70 {
				t.Errorf("%s: got %v, want %v", c.destinations, got, c.want)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: got %v, want %v", c.destinations, got, c.want)
		}
	}
}

// Retries stay with the cluster that was chosen, unless the route says otherwise.
func TestWeightedRetries(t *testing.T) {
	const destinations = "{destination: a}, {destination: dead}"
	for retry, fails := range map[string]bool{
		"retry: {retry_on: always, num_retries: 3, backoff: 1}":                                true,
		"retry: {retry_on: always, num_retries: 100, backoff: 1, other_cluster: true}":         false,
		"retry: {statuses: [503], num_retries: 100, backoff: 1, other_cluster: true}":          true, // a connection that fails
		"retry: {retry_on: never, num_retries: 100, backoff: 1, other_cluster: true}":          true,
		"retry: {retry_on: connect-failure, num_retries: 99, backoff: 1, other_cluster: true}": false,
	} {
		at := start(t, fmt.Sprintf(weightedConfig, destinations, retry, says(t, "a"), "1"), "IN", "DEAD")
		got := answers(t, "http://"+at["IN"], 50)
		if got["a"] == 0 || got["503"] > 0 != fails || got["a"]+got["503"] != 50 {
			t.Errorf("%s: got %v", retry, got)
		}
	}
	failing := httpServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	const statuses = "retry: {statuses: [503], num_retries: 100, backoff: 1, other_cluster: true}"
	at := start(t, fmt.Sprintf(weightedConfig, "{destination: a}, {destination: b}, {destination: c}", statuses, says(t, "a"), failing), "IN", "DEAD")
	if got := answers(t, "http://"+at["IN"], 50); got["503"] > 0 || got["a"] == 0 || got["echo"] == 0 {
		t.Errorf("after a status: got %v", got)
	}
}

// A session of TCP has one cluster of its route, through the chains of the route; its retries may take another one.
func TestWeightedSessions(t *testing.T) {
	greet := func(text string) string {
		return listen(t, func(c *net.TCPConn) { _, _ = io.WriteString(c, text) })
	}
	at := start(t, fmt.Sprintf(`
listeners:
- name: in
  spec: {protocol: TCP, port: $IN, address: 127.0.0.1}
  rules: [{action: {route: {
    destinations: [{destination: a}, {destination: b}, {destination: dead, weight: 2}], egress: [{spec: {protocol: Echo}}],
    retry: {retry_on: connect-failure, num_retries: 100, backoff: 1, other_cluster: true}}}}]
clusters:
- {name: a, spec: {protocol: TCP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}
- {name: b, spec: {protocol: TCP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}
- {name: dead, spec: {protocol: TCP, port: $DEAD}, endpoints: [{spec: {address: 127.0.0.1}}]}
`, greet("a"), greet("b")), "IN", "DEAD")
	got := map[string]int{}
	for range 60 {
		text, err := io.ReadAll(dial(t, "tcp", at["IN"]))
		if err != nil {
			t.Fatal(err)
		}
		got[string(text)]++
	}
	if got["a"] == 0 || got["b"] == 0 || got["a"]+got["b"] != 60 {
		t.Errorf("got %v", got)
	}
}

// The cluster is chosen at random; a hash chooses the endpoint in it.
func TestWeightedHash(t *testing.T) {
	cluster := func(name string) string {
		return fmt.Sprintf(`
- name: %s
  spec: {protocol: HTTP, port: 1}
  loadbalancer: {policy: Maglev, key: /HTTP/headers/x-user}
  endpoints: [{spec: {address: 127.0.0.1, port: %s}}, {spec: {address: 127.0.0.1, port: %s}}]`,
			name, says(t, name+"1"), says(t, name+"2"))
	}
	at := start(t, `
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1}
  rules: [{action: {route: {destinations: [{destination: a}, {destination: b}]}}}]
clusters:`+cluster("a")+cluster("b"), "IN")
	got := map[string]int{}
	for range 60 {
		_, body := do(t, request(t, "GET", "http://"+at["IN"], nil, "X-User: 7"))
		got[body]++
	}
	if len(got) != 2 || got["a1"]+got["a2"] == 0 || got["b1"]+got["b2"] == 0 {
		t.Errorf("one user reaches %v", got)
	}
}

// The API shows the destinations of a route, updates them, and removes those that have generated names.
func TestWeightedAPI(t *testing.T) {
	at := start(t, apiConfig, "API")
	api := client{t, "http://" + at["API"] + "/api/v1/"}
	api.must("POST", "routes", `{"route": {"name": "r", "destinations": [{"destination": {"spec": {"protocol": "Echo"}}, "weight": 9}, {"destination": "late"}]}}`)
	generated := strings.Count(api.get("clusters"), "r-Cluster-")
	for _, want := range []string{`"destinations":[{"destination":"r-Cluster-`, `"weight":9}`, `{"destination":"late","weight":1}]`} {
		if got := api.get("routes/r"); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := api.get("routes/r?recursive"); !strings.Contains(got, `"late:\u003cSTALE\u003e"`) {
		t.Errorf("recursive: got %s", got)
	}
	api.must("PUT", "routes/r", `{"route": {"name": "r", "destinations": [{"destination": "late", "weight": 2}, {"destination": {"spec": {"protocol": "Echo"}}}]}}`)
	api.must("DELETE", "routes/r?recursive", "")
	if got := api.get("clusters"); generated != 1 || strings.Contains(got, "r-Cluster-") {
		t.Errorf("there were %d generated clusters; at the end: %s", generated, got)
	}
}
