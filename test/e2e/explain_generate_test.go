package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// explainedSort is a sort of requests.
type explainedSort struct {
	name     string
	requests int
	// generate returns the request with a number.
	generate func(*rand.Rand, int) explainedRequest
	// check checks that the generated requests are of this sort.
	check func([]explainedAnswer) error
}

// explainedCluster is what requests need of the cluster.
type explainedCluster struct {
	// address is that of the Service outside, in the form of a URL.
	address string
}

// withOutcome returns whether an answer has an outcome.
func withOutcome(o string) func(explainedAnswer) bool {
	return func(a explainedAnswer) bool { return a.Decision.Outcome == o }
}

// allowed are the sorts for a mesh that forwards what is not declared.
func (e explainedCluster) allowed() []explainedSort {
	return []explainedSort{
		{"undeclared", 60, e.undeclaredRequest, atLeast(20, "passed through", withOutcome("PassedThrough"))},
		{"match", 60, matchingRequest, atLeast(20, "forwarded", withOutcome("Forwarded"))},
		{"TLS of the application", 60, e.encrypted, atLeast(20, "not HTTP", withOutcome("NotHTTP"))},
	}
}

// denied are the sorts for a mesh that refuses what is not declared.
func (e explainedCluster) denied() []explainedSort {
	return []explainedSort{
		{"match", 160, matchingRequest, atLeast(20, "forwarded", withOutcome("Forwarded"))},
		{"no match", 60, otherRequest, atLeast(20, "not found", withOutcome("NotFound"))},
		{"retry", 40, retriedRequest, atLeast(20, "forwarded", withOutcome("Forwarded"))},
		{"timeout", 54, slowRequest, atLeast(20, "ended by a timeout", func(a explainedAnswer) bool {
			return a.endsAfter() > 0 && a.endsAfter() < longDelay
		})},
		{"timeout of a stream", 40, idleStream, atLeast(20, "ended by a timeout", func(a explainedAnswer) bool {
			return a.endsAfter() > 0 && a.endsAfter() < longDelay
		})},
		{"no ready instance", 60, unservedRequest, atLeast(20, "not served", func(a explainedAnswer) bool {
			return a.responders()["status 503"] > 0 || a.Decision.Outcome == "Unavailable"
		})},
		{"undeclared host", 50, e.undeclaredHost, atLeast(20, "not found", withOutcome("NotFound"))},
		{"tcp", 60, e.stream, atLeast(20, "forwarded", withOutcome("Forwarded"))},
		{"TLS of the application", 60, e.encrypted, atLeast(20, "not HTTP", withOutcome("NotHTTP"))},
		{"TLS of the mesh", 40, sealedRequest, atLeast(20, "forwarded", withOutcome("Forwarded"))},
		{"undeclared port", 42, e.undeclaredPort, atLeast(20, "refused", withOutcome("Refused"))},
	}
}

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

const (
	appURL      = "http://app.explained.example:8080"
	absoluteURL = "http://app.explained.example.:8080"
)

// matchingRequest is a request that usually matches a route of app.
func matchingRequest(r *rand.Rand, n int) explainedRequest {
	method := pick(r, "GET", "POST", "PUT", "DELETE")
	more := pick(r, "", "/", "/x", "?q=b", "/y?q=a", "//z/../w", "x")
	with := func(path string, headers ...string) explainedRequest {
		return explainedRequest{method: method, url: appURL + path, headers: headers}
	}
	switch n % 12 {
	case 0:
		return with(pick(r, "/red", "/a/../red", "//red", "/red?q=1"))
	case 1:
		return with(fmt.Sprintf("/b%d/%s", r.IntN(100), pick(r, "", "x", "y/z")))
	case 2:
		return with("/header"+more, "x-color:"+pick(r, "red", "blue"))
	case 3:
		return with("/range"+more, fmt.Sprintf("X-Age:%d", 3+r.IntN(4)))
	case 4:
		return with("/invert"+more, pick(r, "x-other:red", "x-color:blue"))
	case 5:
		method = "POST"
		return with("/method" + more)
	case 6:
		return with("/query" + pick(r, "?q=a", "/x?q=a&q=b", "?r=c&q=a"))
	case 7:
		return with("/weights" + more)
	case 8:
		return with("/outside" + more)
	case 9:
		return with("/host"+more, "Host:"+pick(r, "app.explained.example", "App.Explained.Example:8080",
			"app.explained.example.:8080"))
	case 10:
		return explainedRequest{method: pick(r, "GET", "PUT"), url: pick(r, appURL, absoluteURL) + "/pseudo" + pick(r, "", "/x")}
	}
	return with("/pool" + more)
}

// otherRequest is a request that usually matches no route.
func otherRequest(r *rand.Rand, n int) explainedRequest {
	with := func(method, path string, headers ...string) explainedRequest {
		return explainedRequest{method: method, url: appURL + path, headers: headers}
	}
	method := pick(r, "GET", "POST", "DELETE")
	switch n % 7 {
	case 0:
		return with(method, pick(r, "/", "/reds", "/red/", "/RED", "/re%64", "/nothing"))
	case 1:
		return with(method, pick(r, "/b/x", "/b1", "/bx/", "/B1/x", "/b1/x/../.."))
	case 2:
		return with(method, "/header", pick(r, "x-other:red", "xcolor:red"))
	case 3:
		return with(method, "/range", pick(r, "x-age:7", "x-age:2", "x-age:five", "x-age:3.5", "x-age:-4", "x-other:4"))
	case 4:
		return with(method, "/invert", "x-color:red")
	case 5:
		return with(pick(r, "GET", "PUT"), "/method")
	}
	return with(method, pick(r, "/query", "/query?q=b", "/query?q=b&q=a", "/query?Q=a", "/query?q=%61"))
}

// retriedRequest is a request to which the application responds with a status, under one of several retry policies.
func retriedRequest(r *rand.Rand, n int) explainedRequest {
	status := pick(r, 200, 409, 429, 500, 501, 502, 503, 504, 509, 511)
	return explainedRequest{
		method:  pick(r, "GET", "POST", "DELETE"),
		url:     fmt.Sprintf("http://retry.explained.example:8080/status/%d/retry-%d-%d", status, n, r.Uint32()),
		headers: []string{"x-policy:" + pick(r, "server", "gateway", "conflict", "none", "default")},
		status:  status, counted: true,
	}
}

// longDelay is longer than twice the short timeouts of slow, and shorter than the others. shortDelay is shorter
// than half of each.
const (
	longDelay  = 4 * time.Second
	shortDelay = 50 * time.Millisecond
)

// slowRequest is a request to which the application responds late, under one of several timeouts: each of them, and
// each listener, in turn.
func slowRequest(r *rand.Rand, n int) explainedRequest {
	policies := slices.Sorted(maps.Keys(slowPolicies))
	policy, port := policies[n%len(policies)], slowPorts[n/len(policies)%len(slowPorts)]
	delay := longDelay
	if r.IntN(4) == 0 {
		delay = shortDelay
	}
	return explainedRequest{
		method:  pick(r, "GET", "PUT"),
		url:     fmt.Sprintf("http://slow.explained.example:8080/delay/%s/slow-%d-%d", delay, n, r.Uint32()),
		headers: []string{"x-policy:" + policy, fmt.Sprintf("x-port:%d", port)},
		status:  200, delay: delay, counted: true,
	}
}

// idleStream is a connection that the client keeps without sending anything.
func idleStream(r *rand.Rand, n int) explainedRequest {
	delay := longDelay
	if r.IntN(4) == 0 {
		delay = shortDelay
	}
	service := []string{"brief", "patient", "brief", "patient", "stream"}[n%5]
	return explainedRequest{url: fmt.Sprintf("tcp://%s.explained.example:9000/hold/%s", service, delay), delay: delay}
}

// unservedRequest is a request to destinations of which one at least has no pod that is ready.
func unservedRequest(r *rand.Rand, n int) explainedRequest {
	if n%5 == 0 {
		return explainedRequest{method: "", url: "tcp://void.explained.example:9000"}
	}
	return explainedRequest{
		method: pick(r, "GET", "POST"),
		url:    "http://gone.explained.example:8080" + pick(r, "/absent", "/unready", "/lost", "/mixed", "/mixed") + pick(r, "", "/x", "?q=a"),
	}
}

// undeclaredHost is a request to a host that is no backend, on a port of backends.
func (e explainedCluster) undeclaredHost(r *rand.Rand, n int) explainedRequest {
	out := explainedRequest{method: pick(r, "GET", "POST")}
	path := pick(r, "/", "/red", "/pool/x")
	if n%3 == 0 {
		out.url = pick(r, "http://app.explained.example:8080", "http://outside.explained:8080") + path
		out.headers = []string{"Host:" + pick(r, "example.com", "app.explained", "app.explained.example:9000",
			"gone.explained.:8080", "x.app.explained.example", "hidden.explained.example")}
		return out
	}
	out.url = pick(r, "http://outside.explained.svc.cluster.local:8080", "http://outside.explained:8080",
		"http://red:8080", "http://blue.explained.svc:8080", "http://blue.explained.svc.cluster.local.:8080",
		"http://hidden.explained.example:8080", "http://nosuch.explained.svc.cluster.local:8080", "http://nosuch:8080",
		"http://"+e.address+":8080") + path
	return out
}

// undeclaredPort is a request on a port that no backend has.
func (e explainedCluster) undeclaredPort(r *rand.Rand, n int) explainedRequest {
	host := pick(r, "app.explained.example", "stream.explained.example", "outside.explained", "red",
		"outside.explained.svc.cluster.local", e.address, "hidden.explained.example")
	port := pick(r, 80, 443, 7070, 8081, 8090, 9001)
	switch n % 3 {
	case 0:
		return explainedRequest{url: fmt.Sprintf("tcp://%s:%d", host, port)}
	case 1:
		return explainedRequest{url: fmt.Sprintf("https://%s:%d", host, port)}
	}
	return explainedRequest{method: "GET", url: fmt.Sprintf("http://%s:%d/", host, port)}
}

// stream is a connection, or an HTTP request, to a port of TCP services.
func (e explainedCluster) stream(r *rand.Rand, n int) explainedRequest {
	switch n % 6 {
	case 0: // not a backend, or a backend on another port
		return explainedRequest{url: fmt.Sprintf("tcp://%s:9000",
			pick(r, "red", "blue.explained", e.address, "app.explained.example", "secure.explained.example"))}
	case 1: // the sidecar decodes HTTP
		return explainedRequest{url: "tcp://" + pick(r, "app", "gone") + ".explained.example:8080"}
	case 2:
		return explainedRequest{method: "GET", url: "http://" + pick(r, "stream.explained.example", "pair.explained.example", "red") + ":9000/"}
	}
	return explainedRequest{url: "tcp://" + pick(r, "stream", "pair", "pair") + ".explained.example:9000"}
}

// encrypted is a connection with TLS to a port of HTTP services, or of TCP services with and without TLS.
func (e explainedCluster) encrypted(r *rand.Rand, n int) explainedRequest {
	switch n % 5 {
	case 0:
		return explainedRequest{url: "https://secure.explained.example:8443"}
	case 1:
		return explainedRequest{url: "https://" + pick(r, "stream", "pair") + ".explained.example:9000", withoutTLS: true}
	case 2:
		host, original := pick(r, "red", "outside.explained", "stream.explained.example"), "connection reset"
		if host == "red" {
			original = "red" // it serves TLS at its own address
		}
		return explainedRequest{url: "https://" + host + ":8443", original: original}
	}
	return explainedRequest{url: fmt.Sprintf("https://%s:8080", pick(r, "app.explained.example", "gone.explained.example",
		"sealed.explained.example", "outside.explained", "red", e.address))}
}

// sealedRequest is a request to a listener that requires TLS of the mesh.
func sealedRequest(r *rand.Rand, _ int) explainedRequest {
	return explainedRequest{
		method: pick(r, "GET", "POST"),
		url:    "http://" + pick(r, "sealed", "named", "misnamed", "mutual") + ".explained.example:8080/" + pick(r, "", "x", "?y"),
	}
}

// undeclaredRequest is a request to what is no backend, for a mesh that forwards it to its original destination.
func (e explainedCluster) undeclaredRequest(r *rand.Rand, n int) explainedRequest {
	host := pick(r, "red", "blue.explained", "outside.explained.svc.cluster.local")
	server, _, _ := strings.Cut(host, ".")
	switch n % 6 {
	case 0:
		return explainedRequest{method: "GET", url: "http://" + host + ":8080/", original: server}
	case 1:
		return explainedRequest{method: "POST", url: "http://" + e.address + ":8080/x", headers: []string{"Host:example.com"}, original: "outside"}
	case 2: // the address of a backend with another host name: nobody has a reserved address
		return explainedRequest{
			method: "GET", url: appURL + "/red", headers: []string{"Host:" + pick(r, "example.com", "x.app.explained.example")},
			original: "status 503",
		}
	case 3:
		host = pick(r, "red", "blue.explained")
		server, _, _ = strings.Cut(host, ".")
		return explainedRequest{url: "tcp://" + host + ":9000", original: server}
	case 4:
		return explainedRequest{method: "GET", url: "http://red:8081/", original: "red"}
	}
	return explainedRequest{method: "GET", url: "http://" + pick(r, "outside.explained:8081", "app.explained.example:7070") + "/", original: "connection reset"}
}
