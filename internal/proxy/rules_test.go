package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
)

// A rule denies requests and sessions by what it knows of them.
func TestDeny(t *testing.T) {
	up := httpServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") })
	at := start(t, fmt.Sprintf(`
listeners:
- name: http
  spec: {protocol: HTTP, port: $HTTP, address: 127.0.0.1}
  rules:
  - {match: {op: matches, path: /HTTP/url/pathname, value: "^/(read|write)$"}, action: {route: {destination: up}}}
  - {match: {op: test, path: /HTTP/url/params/a/b, value: "1"}, action: {route: {destination: up}}}
  - {match: {op: range, path: /HTTP/headers/x-age, value: [-2, 7]}, action: {route: {destination: up}}}
  - {action: {deny: true}}
- name: tcp
  spec: {protocol: TCP, port: $TCP, address: 127.0.0.1}
  rules: [{action: {deny: true}}]
clusters: [{name: up, spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}]
`, up), "HTTP", "TCP")
	for _, c := range []struct {
		path, age string
		want      int
	}{
		{"/read", "", 200}, {"/write?x=/", "", 200}, {"/reads", "", 403}, {"/?x=/read", "", 403},
		{"/?a/b=1", "", 200}, {"/?c&a/b=1&a/b=2", "", 200}, {"/?a/b=2&a/b=1", "", 403}, {"/?a=1", "", 403}, {"/?a/b", "", 403},
		{"/", "-2", 200}, {"/", "6", 200}, {"/", "7", 403}, {"/", "-3", 403}, {"/", "1.5", 403}, {"/", "x", 403},
	} {
		r, err := http.NewRequest(http.MethodGet, "http://"+at["HTTP"]+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.age != "" {
			r.Header.Set("X-Age", c.age)
		}
		if response, body := do(t, r); response.StatusCode != c.want {
			t.Errorf("%s with age %q: got %d %s, want %d", c.path, c.age, response.StatusCode, body, c.want)
		}
	}
	conn := dial(t, "tcp", at["TCP"])
	if all, _ := io.ReadAll(conn); len(all) > 0 {
		t.Errorf("a denied session got %q", all)
	}
	if err := tryStart(t, `rulelists: [{name: a, rules: [{action: {deny: true, apply: b}}]}]`); err == nil {
		t.Error("deny with apply is accepted")
	}
}

// Rules rewrite a request before those that they apply, which see the result.
func TestRewriteBeforeApply(t *testing.T) {
	up := httpServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host+" "+r.RequestURI) })
	at := start(t, fmt.Sprintf(`
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1, canonical: true}
  rules:
  - match: {op: starts, path: /HTTP/url/path, value: /old}
    action: {apply: inner, rewrite: [{path: /HTTP/url/path, pattern: "^/old", value: /}, {path: /HTTP/headers/host, value: inner.example}]}
rulelists:
- name: inner
  rules:
  - {match: {op: test, path: /HTTP/url/pathname, value: /a}, action: {rewrite: [{path: /HTTP/url/path, pattern: z, value: y}], route: {destination: up}}}
  - {match: {op: test, path: /HTTP/url/params/q, value: "1"}, action: {rewrite: [{path: /HTTP/url/path, pattern: "[?].*", value: ""}], route: {destination: up}}}
clusters: [{name: up, spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}]
`, up), "IN")
	for path, want := range map[string]string{
		"/old/a?b=1": "inner.example /a?b=1", "/old/b/../a?z": "inner.example /a?y", "/old/x?q=1": "inner.example /x", "/a": "404", "/old/c": "404",
	} {
		response, body := do(t, request(t, "GET", "http://"+at["IN"]+path, nil))
		if body != want && fmt.Sprint(response.StatusCode) != want {
			t.Errorf("%s: got %d %q, want %q", path, response.StatusCode, body, want)
		}
	}
}

// A listener appends the address of the client, and tells the scheme, unless it trusts what a proxy before it tells.
func TestForwarded(t *testing.T) {
	up := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header["X-Forwarded-For"], r.Header["X-Forwarded-Proto"])
	})
	at := start(t, fmt.Sprintf(`
listeners:
- {name: no, spec: {protocol: HTTP, port: $NO, address: 127.0.0.1}, rules: to}
- {name: append, spec: {protocol: HTTP, port: $APPEND, address: 127.0.0.1, forwarded: append}, rules: to}
- {name: trust, spec: {protocol: HTTP, port: $TRUST, address: 127.0.0.1, forwarded: trust}, rules: to}
rulelists: [{name: to, rules: [{action: {route: {destination: up}}}]}]
clusters: [{name: up, spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}]
`, up), "NO", "APPEND", "TRUST")
	sent := []string{"X-Forwarded-For: 1.1.1.1", "x-forwarded-for: 2.2.2.2", "X-Forwarded-Proto: https"}
	for _, c := range []struct {
		listener string
		fields   []string
		want     string
	}{
		{"NO", sent, "[1.1.1.1 2.2.2.2] [https]"}, {"NO", nil, "[] []"},
		{"APPEND", sent, "[1.1.1.1,2.2.2.2,127.0.0.1] [http]"}, {"APPEND", nil, "[127.0.0.1] [http]"},
		{"TRUST", sent, "[1.1.1.1,2.2.2.2,127.0.0.1] [https]"}, {"TRUST", nil, "[127.0.0.1] [http]"},
	} {
		if _, body := do(t, request(t, "GET", "http://"+at[c.listener]+"/", nil, c.fields...)); body != c.want {
			t.Errorf("%s with %v: got %s, want %s", c.listener, c.fields, body, c.want)
		}
	}
}

// Rules see the address of the client: that of the connection, or what a number of trusted proxies tell.
func TestClientBehindProxies(t *testing.T) {
	up := httpServer(t, func(http.ResponseWriter, *http.Request) {})
	text := "listeners:\n"
	for name, spec := range map[string]string{
		"NONE": "forwarded: append", "ONE": "forwarded: trust, trusted_hops: 1", "TWO": "forwarded: trust, trusted_hops: 2",
	} {
		text += fmt.Sprintf("- {name: %[1]s, spec: {protocol: HTTP, port: $%[1]s, address: 127.0.0.1, %[2]s}, rules: to}\n", name, spec)
	}
	at := start(t, text+fmt.Sprintf(`
rulelists:
- name: to
  rules:
  - {match: {op: within, path: /HTTP/client, value: ['192.0.2.0/24', '2001:db8::/32']}, action: {route: {destination: up}}}
  - {match: {op: test, path: /HTTP/client, value: 127.0.0.1}, action: {deny: true}}
clusters: [{name: up, spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}]
`, up), "NONE", "ONE", "TWO")
	const served, peer, other = 200, 403, 404
	for _, c := range []struct {
		told           string
		none, one, two int
	}{
		{"", peer, peer, peer}, {"192.0.2.1", peer, served, peer}, {"10.0.0.1, 192.0.2.1", peer, served, other},
		{"192.0.2.1,10.0.0.1", peer, other, served}, {"2001:db8::1", peer, served, peer}, {"192.0.2.1,unknown", peer, peer, served},
		{"10.0.0.1,192.0.2.1,10.0.0.2", peer, other, served},
	} {
		for listener, want := range map[string]int{"NONE": c.none, "ONE": c.one, "TWO": c.two} {
			var fields []string
			if c.told != "" {
				fields = []string{"X-Forwarded-For: " + c.told}
			}
			if r, _ := do(t, request(t, "GET", "http://"+at[listener]+"/", nil, fields...)); r.StatusCode != want {
				t.Errorf("%s with %q: got status %d, want %d", listener, c.told, r.StatusCode, want)
			}
		}
	}
}
