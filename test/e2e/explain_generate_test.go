package e2e

import (
	"fmt"
	"math/rand/v2"
)

// explainedSort is a sort of requests.
type explainedSort struct {
	name     string
	requests int
	generate func(*rand.Rand, int) explainedRequest
	// check checks that the generated requests are of this sort.
	check func([]explainedAnswer) error
}

func explainedSorts() []explainedSort {
	outcome := func(all ...string) func(explainedAnswer) bool {
		return func(a explainedAnswer) bool {
			for _, o := range all {
				if a.Decision.Outcome == o {
					return true
				}
			}
			return false
		}
	}
	return []explainedSort{
		{"match", 60, matchingRequest, atLeast(20, "forwarded", outcome("Forwarded"))},
		{"no match", 60, otherRequest, atLeast(20, "not found", outcome("NotFound"))},
	}
}

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

const appURL = "http://app.explained.example:8080"

// matchingRequest is a request that usually matches a route of app.
func matchingRequest(r *rand.Rand, _ int) explainedRequest {
	method := pick(r, "GET", "POST", "PUT", "DELETE")
	more := pick(r, "", "/", "/x", "?q=b", "/y?q=a", "//z/../w", "x")
	with := func(path string, headers ...string) explainedRequest {
		return explainedRequest{method: method, url: appURL + path, headers: headers}
	}
	switch r.IntN(10) {
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
	}
	return with("/pool" + more)
}

// otherRequest is a request that usually matches no route.
func otherRequest(r *rand.Rand, _ int) explainedRequest {
	with := func(method, path string, headers ...string) explainedRequest {
		return explainedRequest{method: method, url: appURL + path, headers: headers}
	}
	method := pick(r, "GET", "POST", "DELETE")
	switch r.IntN(7) {
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
