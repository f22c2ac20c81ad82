package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	buyURL   = "http://bookstore.bookstore:14001/buy-a-book/new"
	mysqlURL = "http://mysql.bookwarehouse:3306/"
)

// steadyOutcomes are calls of buyer and thief while change runs. They must have these outcomes, and no others.
func steadyOutcomes(t *testing.T, buyer, thief []string, change func()) {
	t.Helper()
	steadyCalls{"bookbuyer", "bookbuyer", []string{buyURL}, buyer}.during(t, func() {
		steadyCalls{"bookthief", "bookthief", []string{buyURL}, thief}.during(t, change)
	})
}

// TestBookstore runs the bookstore of the documentation of Open Service Mesh, with the published policies.
func TestBookstore(t *testing.T) {
	dropSettings(t)
	apply(t, bookstoreApps())
	apply(t, bookstoreMeshConfig)
	for _, name := range []string{
		"bookbuyer bookbuyer", "bookthief bookthief", "bookstore bookstore", "bookstore bookstore-v2",
		"bookwarehouse bookwarehouse", "bookwarehouse mysql",
	} {
		ns, deployment, _ := strings.Cut(name, " ")
		waitReady(t, ns, "deployment/"+deployment)
	}
	expect := func(namespace, client, target, version string, status int) {
		t.Helper()
		eventually(t, 20*time.Second, client+" calls "+target, func() error {
			o, err := callFromIn(t.Context(), namespace, client, target)
			return want(o, err, o.Status == status && o.Version == version, "another outcome")
		})
	}
	permissive := func(on bool) {
		t.Helper()
		run(t, "-n", "bookstore", "patch", "meshconfigs.v1alpha1.config.openservicemesh.io", "osm-mesh-config", "--type=merge",
			"-p", fmt.Sprintf(`{"spec":{"traffic":{"enablePermissiveTrafficPolicyMode":%v}}}`, on))
	}
	refused := []string{"status 403"}

	expect("bookthief", "bookthief", buyURL, "v1", 200) // permissive, without any policy
	apply(t, bookstorePolicies)
	permissive(false)
	expect("bookthief", "bookthief", buyURL, "", 403)
	expect("bookbuyer", "bookbuyer", buyURL, "v1", 200)
	expect("bookbuyer", "bookbuyer", "http://bookstore.bookstore:14001/books-bought", "", 403) // without its headers
	expect("bookstore", "bookstore", "http://bookwarehouse.bookwarehouse:14001/", "", 403)     // GET is not POST
	expect("bookwarehouse", "bookwarehouse", mysqlURL, "mysql", 200)
	if o, err := callFromIn(t.Context(), "bookbuyer", "bookbuyer", mysqlURL); err != nil || o.Version != "" {
		t.Errorf("a connection that no TCPRoute allows: %+v, %v", o, err)
	}
	wantOutput(t, []string{"TrafficTarget bookstore/bookstore"}, "explain", "--from", "bookbuyer/bookbuyer", buyURL)
	if out, code := runVerb(t, "explain", "--from", "bookthief/bookthief", buyURL); code == 0 ||
		!strings.Contains(out, "403") || !strings.Contains(out, "sa/bookthief") {
		t.Errorf("exit code %d of\n%s", code, out)
	}

	t.Run("split", func(t *testing.T) {
		steadyOutcomes(t, []string{"v1", "v2"}, refused, func() {
			for _, w := range [][2]int{{100, 0}, {50, 50}, {0, 100}} {
				apply(t, bookstoreSplit(w[0], w[1]))
				expectShare(t, w[0], w[1])
			}
		})
	})
	t.Run("permissive mode", func(t *testing.T) {
		steadyOutcomes(t, []string{"v1"}, []string{"v1", "status 403"}, func() {
			for range 5 {
				permissive(true)
				expect("bookthief", "bookthief", buyURL, "v1", 200)
				permissive(false)
				expect("bookthief", "bookthief", buyURL, "", 403)
			}
		})
		// Once it is off everywhere, nothing is answered.
		steadyOutcomes(t, []string{"v1"}, refused, func() {
			for range 20 {
				expectShare(t, 100, 0)
			}
		})
	})
	t.Run("swap", func(t *testing.T) { swapBookstore(t, expect) })
	t.Run("older client", func(t *testing.T) { olderClient(t) })
}

// swapBookstore replaces the sidecars of the bookstore under load, by those of each driver, and then those of its
// clients. The decisions stay the same.
func swapBookstore(t *testing.T, expect func(namespace, client, target, version string, status int)) {
	classes := []string{"native", "envoy"}
	if pipyProgram() != "" {
		classes = []string{"native", "pipy", "envoy"}
	}
	swap := func(namespace, deployment, class string) {
		t.Helper()
		run(t, "-n", namespace, "patch", "deployment", deployment, "-p",
			`{"spec":{"template":{"metadata":{"annotations":{"anymesh.dev/sidecarClass":"`+class+`"}}}}}`)
		run(t, "-n", namespace, "rollout", "status", "deployment", deployment, "--timeout=120s")
	}
	steadyOutcomes(t, []string{"v1"}, []string{"status 403"}, func() {
		for _, class := range classes {
			swap("bookstore", "bookstore", class)
			expect("bookbuyer", "bookbuyer", buyURL, "v1", 200)
		}
	})
	for _, class := range classes {
		for _, name := range []string{"bookbuyer", "bookthief"} {
			swap(name, name, class)
		}
		expect("bookbuyer", "bookbuyer", buyURL, "v1", 200)
		expect("bookthief", "bookthief", buyURL, "", 403)
		expect("bookbuyer", "bookbuyer", "http://bookstore.bookstore:14001/books-bought", "", 403)
	}
}

// expectShare waits until twenty calls of the buyer have the versions that weights allow.
func expectShare(t *testing.T, v1, v2 int) {
	t.Helper()
	eventually(t, 20*time.Second, fmt.Sprintf("split %d : %d", v1, v2), func() error {
		counts := map[string]int{}
		for range 20 {
			o, err := callFromIn(t.Context(), "bookbuyer", "bookbuyer", buyURL)
			if err != nil {
				return err
			}
			counts[o.Version]++
		}
		if (counts["v1"] > 0) != (v1 > 0) || (counts["v2"] > 0) != (v2 > 0) || counts[""] > 0 {
			return fmt.Errorf("got %v", counts)
		}
		return nil
	})
}

// olderClient checks that the API server converts: fields that a version does not have survive its clients.
func olderClient(t *testing.T) {
	apply(t, `
apiVersion: split.smi-spec.io/v1alpha4
kind: TrafficSplit
metadata: {name: beta, namespace: bookstore}
spec:
  service: bookstore
  matches: [{kind: HTTPRouteGroup, name: bookstore-service-routes}]
  backends: [{service: bookstore, weight: 0}, {service: bookstore-v2, weight: 100}]
---
apiVersion: specs.smi-spec.io/v1alpha1
kind: HTTPRouteGroup
metadata: {name: old, namespace: bookstore}
matches: [{name: metrics, pathRegex: /metrics, methods: [GET]}]
---
apiVersion: access.smi-spec.io/v1alpha1
kind: TrafficTarget
metadata: {name: old, namespace: bookstore}
destination: {kind: ServiceAccount, name: bookstore, namespace: bookstore, port: 14001}
specs: [{kind: HTTPRouteGroup, name: old, matches: [metrics]}]
sources: [{kind: ServiceAccount, name: bookthief, namespace: bookthief}]
`)
	old := "trafficsplits.v1alpha2.split.smi-spec.io"
	run(t, "-n", "bookstore", "patch", old, "beta", "--type=json", "-p",
		`[{"op": "replace", "path": "/spec", "value": {"service": "bookstore", "backends": [{"service": "bookstore-v2", "weight": 7}]}}]`)
	got := run(t, "-n", "bookstore", "get", "trafficsplits.v1alpha4.split.smi-spec.io", "beta", "-o",
		"jsonpath={.spec.matches[0].name} {.spec.backends[0].weight}")
	if got != "bookstore-service-routes 7" {
		t.Errorf("a client of v1alpha2 leaves %q", got)
	}
	for _, c := range [][3]string{
		{"httproutegroups.v1alpha4.specs.smi-spec.io", "{.spec.matches[0].name}", "metrics"},
		{"httproutegroups.v1alpha2.specs.smi-spec.io", "{.matches[0].name}", "metrics"},
		{"traffictargets.v1alpha3.access.smi-spec.io", "{.spec.rules[0].name}", "old"},
		{"traffictargets.v1alpha1.access.smi-spec.io", "{.destination.port}", "14001"},
	} {
		if got := run(t, "-n", "bookstore", "get", c[0], "old", "-o", "jsonpath="+c[1]); got != c[2] {
			t.Errorf("%s: got %q", c[0], got)
		}
	}
	eventually(t, 20*time.Second, "the thief reads metrics", func() error {
		o, err := callFromIn(t.Context(), "bookthief", "bookthief", "http://bookstore.bookstore:14001/metrics")
		return want(o, err, o.Status == 200, "another status")
	})
}
