package observe

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/driver/grpc"
	"anymesh.dev/anymesh/internal/driver/native"
	"anymesh.dev/anymesh/internal/driver/pipy"
	"anymesh.dev/anymesh/model"
)

// driversOfCases are the drivers whose sidecars run the cases.
var driversOfCases = []Sidecar{ofEnvoy(envoy.Name, envoy.Name), ofNative(), {Name: grpc.Name, Driver: grpc.Driver{}}, ofPipy()}

// elsewhere are tests with real sidecars for features that no case of a driver shows, or whose absence no request of a
// case shows.
var elsewhere = map[string]map[model.Feature]string{
	envoy.Name: {
		"destination.sendTimeout":        "TestSendTimeout",
		"listener.requestsPerConnection": "TestRequestsPerConnection",
		"listener.tls.hosts":             "TestIngress",
		"outlierDetection":               "TestHealth",
		"tls.secret.Kubernetes":          "TestIngress",
	},
	grpc.Name: {"authorization": "TestAuthorization"},
	pipy.Name: {
		"route.match.header.Exact":  "TestRulesMatchAsTheModel",
		"route.match.header.Prefix": "TestRulesMatchAsTheModel", "route.match.header.Present": "TestRulesMatchAsTheModel",
		"route.match.header.Suffix": "TestRulesMatchAsTheModel", "route.match.path.Exact": "TestRulesMatchAsTheModel",
		"route.match.path.PathPrefix": "TestRulesMatchAsTheModel", "route.match.path.Prefix": "TestRulesMatchAsTheModel",
		"route.match.path.Suffix": "TestRulesMatchAsTheModel",
	},
	native.Name: {
		"listener.requestsPerConnection": "TestRequestsPerConnection", "destination.sendTimeout": "TestSendTimeout",
		"listener.tls.hosts":     "TestCertificatesOfHosts",
		"balance.ConsistentHash": "TestLegsOfCallMeet", "destination.jsondecap": "TestPairs", "destination.jsonencap": "TestPairs",
		"destination.jsonsocket": "TestPairs", "destination.prometheus": "TestMetrics", "destination.sync": "TestSync",
		"destination.udp": "TestLegsOfCallMeet", "destination.unix": "TestPairs", "destination.websocket": "TestPairs",
		"listener.endSessions": "TestSessionsOfRemovedListener", "listener.jsonsocket": "TestLegsOfCallMeet",
		"listener.track": "TestTrackedSessions", "listener.udp": "TestLegsOfCallMeet", "listener.unix": "TestPairs",
		"listener.websocket": "TestPairs", "outlierDetection": "TestOutlier", "route.chain": "TestHalfCloseThroughChains",
		"route.conversion": "TestPairs", "route.match.predicate": "TestPredicates", "route.retry.pause": "TestTCPRetry",
		"route.retry.disconnect": "TestDisconnectRetry", "route.rewrite.metadata": "TestJSONSocketHeader",
		"discovery.Instances.weights": "TestWeightsOfPods", "discovery.Instances.addresses": "TestWeightsOfPods",
		"route.redirect": "TestRedirect", "listener.rateLimit.connections": "TestRates", "discovery.None": "TestSync", "destination.echo": "TestWeightedSessions", "accessLog": "TestAccessLog",
		"route.match.path.Suffix":  "TestPredicates",
		"route.match.query.Prefix": "TestPredicates", "route.match.query.Range": "TestPredicates",
		"route.match.query.Regex": "TestPredicates", "route.match.query.Suffix": "TestPredicates",
	},
}

// shown is how a driver is tested for a feature.
type shown struct {
	// cases counts the workloads of cases that need the feature, and requests those whose result depends on it.
	cases, requests int
}

// coverage returns how the cases test each feature that a driver declares.
func coverage(t *testing.T, s Sidecar) map[model.Feature]shown {
	t.Helper()
	out := map[model.Feature]shown{}
	all, err := s.Workloads()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		for _, n := range w.View.Needs() {
			of := out[n.Feature]
			of.cases++
			of.requests += len(noticing(n.Feature, w.lines, w.index, w.View))
			out[n.Feature] = of
		}
	}
	return out
}

const coveragePage = "../../docs/conformance.md"

// unobserved are features that drivers declare and that no test with a real sidecar shows.
var unobserved = map[string][]model.Feature{
	envoy.Name: {
		"accessLog", "discovery.Static", "healthCheck.http2", "listener.rateLimit.connections", "route.match.query.Prefix",
		"route.match.query.Regex", "route.match.query.Suffix", "route.retry.backoff", "route.retry.connect-failure",
		"route.retry.refused-stream",
	},
	grpc.Name: {
		"egress.Allow", "route.retry.connect-failure", "route.retry.refused-stream", "route.retry.reset", "route.retry.status",
	},
	pipy.Name: {
		"listener.http2", "listener.tls.Permissive", "route.retry.backoff", "route.retry.connect-failure",
		"route.retry.refused-stream",
	},
	native.Name: {
		"destination.discard", "destination.logger", "healthCheck.http2", "route.retry.backoff", "route.retry.connect-failure",
		"route.retry.refused-stream",
	},
}

// Each feature that a driver declares is shown by cases that its sidecar runs, of which requests notice if it is
// broken, or by a test that elsewhere names. The page lists them, and those that no test shows.
func TestEachFeatureIsShown(t *testing.T) {
	t.Setenv(envDerived, "") // the page does not depend on it
	cells := map[model.Feature][]string{}
	for _, d := range driversOfCases {
		supports, all := d.Driver.Supports(), coverage(t, d)
		for _, f := range model.AllFeatures() {
			s, other := all[f], elsewhere[d.Name][f]
			missing := slices.Contains(unobserved[d.Name], f)
			cell := "–"
			switch {
			case !supports[f]:
			case s.requests > 0:
				cell = fmt.Sprintf("%s of %s", counted(s.requests, "request"), counted(s.cases, "case"))
			case other != "":
				cell = other
			case missing:
				cell = "not observed"
			default:
				t.Errorf("driver %s declares %s, and no request shows it (%d cases): add one, or name the test in elsewhere",
					d.Name, f, s.cases)
			}
			if s.requests > 0 && (other != "" || missing) {
				t.Errorf("driver %s, %s: requests of cases show it; remove it from the lists", d.Name, f)
			}
			cells[f] = append(cells[f], cell)
		}
	}
	for d, tests := range elsewhere {
		for f, name := range tests {
			grep := exec.CommandContext(t.Context(), "grep", "-rlq", "func "+name+"(", "../..", "--include=*_test.go")
			if err := grep.Run(); err != nil {
				t.Errorf("driver %s, %s: there is no test %s (%v)", d, f, name, err)
			}
		}
	}
	var page strings.Builder
	page.WriteString(coverageHead)
	for _, f := range model.AllFeatures() {
		fmt.Fprintf(&page, "| `%s` | %s |\n", f, strings.Join(cells[f], " | "))
	}
	if *update {
		if err := os.WriteFile(coveragePage, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(coveragePage)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != page.String() {
		t.Errorf("%s is not up to date: run go test ./internal/observe -run %s -update", coveragePage, t.Name())
	}
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

const coverageHead = "<!-- Generated by `make generate`; the text is in internal/observe/coverage_test.go. -->\n" + `

# How drivers are tested

Each [case](../test/cases) runs with the sidecar of each driver that supports all features of the case: real programs,
real packets, in namespaces of their own. A case has requests with their results, and gets further ones, which are
derived from its configuration. Each result must be that of the interpreter.

The table has, for each [feature](drivers.md) and driver, the requests whose result would differ if the sidecar did not
do what the feature says, or the test with a real sidecar that shows it. "–" is a feature that the driver does not
support: a workload that needs it gets the finding [NotSupportedByDriver](findings/NotSupportedByDriver.md). "not
observed" is declared and rendered, and no test shows its effect.

| feature | envoy | native | grpc | pipy |
|---|---|---|---|---|
`
