package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// osmManifests are members of a mesh of Open Service Mesh. The API server calls port 8080 of the clients, which is
// excluded from capture.
const osmManifests = `
apiVersion: v1
kind: Namespace
metadata: {name: bookshop, labels: {openservicemesh.io/monitored-by: osm}, annotations: {openservicemesh.io/sidecar-injection: enabled}}
---
apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshConfig
metadata: {name: osm-mesh-config, namespace: bookshop}
spec: {traffic: {enablePermissiveTrafficPolicyMode: false, enableEgress: false}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: bookstore, namespace: bookshop}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: bookbuyer, namespace: bookshop}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: bookthief, namespace: bookshop}}
---
{apiVersion: v1, kind: Service, metadata: {name: bookstore, namespace: bookshop}, spec: {selector: {app: bookstore}, ports: [{name: http, port: 80, targetPort: web}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: bookbuyer, namespace: bookshop}, spec: {selector: {app: bookbuyer}, ports: [{port: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: bookthief, namespace: bookshop}, spec: {selector: {app: bookthief}, ports: [{port: 8080}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: bookstore, namespace: bookshop}
spec:
  selector: {matchLabels: {app: bookstore}}
  template:
    metadata: {labels: {app: bookstore}}
    spec:
      serviceAccountName: bookstore
      containers: [{name: app, image: anymesh.dev/colors, args: [serve, --listen=:9080, --version=v1], ports: [{name: web, containerPort: 9080}], readinessProbe: {httpGet: {path: /healthz, port: 9080}, periodSeconds: 1}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: bookbuyer, namespace: bookshop}
spec:
  selector: {matchLabels: {app: bookbuyer}}
  template:
    metadata: {labels: {app: bookbuyer}, annotations: {openservicemesh.io/inbound-port-exclusion-list: "8080"}}
    spec:
      serviceAccountName: bookbuyer
      containers: [{name: app, image: anymesh.dev/colors, args: [drive, --listen=:8080, --rate=0], readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: bookthief, namespace: bookshop}
spec:
  selector: {matchLabels: {app: bookthief}}
  template:
    metadata: {labels: {app: bookthief}, annotations: {openservicemesh.io/inbound-port-exclusion-list: "8080"}}
    spec:
      serviceAccountName: bookthief
      containers: [{name: app, image: anymesh.dev/colors, args: [drive, --listen=:8080, --rate=0], readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}}]
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata: {name: bookstore, namespace: bookshop}
spec: {matches: [{name: buy, pathRegex: /, methods: [GET], headers: [{host: bookstore.*}]}]}
---
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: {name: bookstore, namespace: bookshop}
spec:
  destination: {kind: ServiceAccount, name: bookstore, namespace: bookshop}
  rules: [{kind: HTTPRouteGroup, name: bookstore, matches: [buy]}]
  sources: [{kind: ServiceAccount, name: bookbuyer, namespace: bookshop}]
`

const booksURL = "http://bookstore.bookshop/"

// TestTrafficTargets checks that the sidecar of the destination grants what a TrafficTarget grants and nothing else,
// that permissive mode is switched in both directions, and what commands say about it.
func TestTrafficTargets(t *testing.T) {
	dropSettings(t)
	apply(t, osmManifests)
	for _, name := range []string{"bookstore", "bookbuyer", "bookthief"} {
		waitReady(t, "bookshop", "deployment/"+name)
	}
	expect := func(client, target string, status int) {
		t.Helper()
		eventually(t, 20*time.Second, client+" calls "+target, func() error {
			o, err := callFromIn(t.Context(), "bookshop", client, target)
			return want(o, err, o.Status == status, "another status")
		})
	}
	permissive := func(on string) {
		t.Helper()
		run(t, "-n", "bookshop", "patch", "meshconfig", "osm-mesh-config", "--type=merge", "-p",
			`{"spec":{"traffic":{"enablePermissiveTrafficPolicyMode":`+on+`}}}`)
	}
	expect("bookbuyer", booksURL, 200)
	expect("bookthief", booksURL, 403)
	expect("bookbuyer", "http://bookstore.bookshop/healthz", 403)
	ip := run(t, "-n", "bookshop", "get", "pods", "-l", "app=bookstore", "-o", "jsonpath={.items[0].status.podIP}")
	t.Run("directly", func(t *testing.T) {
		o, err := callFrom(t.Context(), "front", hostPort(ip, 9080))
		if err != nil || o.Status == 200 || o.Version != "" {
			t.Errorf("a client without an identity of the mesh gets %+v, %v", o, err)
		}
	})
	t.Run("explain", func(t *testing.T) {
		wantOutput(t, []string{"TrafficTarget bookshop/bookstore"}, "explain", "--from", "bookshop/bookbuyer", booksURL)
		out, code := runVerb(t, "explain", "--from", "bookshop/bookthief", booksURL)
		if code == 0 || !strings.Contains(out, "403") || !strings.Contains(out, "sa/bookthief") {
			t.Errorf("exit code %d of\n%s", code, out)
		}
	})
	t.Run("own service", func(t *testing.T) {
		address := run(t, "-n", "bookshop", "get", "service", "bookstore", "-o", "jsonpath={.spec.clusterIP}")
		eventually(t, 20*time.Second, "a pod calls the Service that leads to it", func() error {
			status := mustOnNode(t, "nsenter", "-t", proxiesAt(t, ip)[0], "-n", "curl", "-s", "-o", "/dev/null",
				"-w", "%{http_code}", "-H", "Host: bookstore.bookshop", hostPort(address, 80))
			if status != "403" {
				return fmt.Errorf("status %s, want 403: no TrafficTarget grants it", status)
			}
			return nil
		})
	})
	testLogLevel(t, ip, "envoy", "[debug]")
	testOSMPolicies(t, hostPort(ip, 9080))
	for _, name := range []string{"bookstore", "bookbuyer"} {
		run(t, "-n", "bookshop", "patch", "deployment", name, "-p",
			`{"spec":{"template":{"metadata":{"annotations":{"anymesh.dev/sidecarClass":"native"}}}}}`)
		run(t, "-n", "bookshop", "rollout", "status", "deployment", name, "--timeout=120s")
	}
	newest := run(t, "-n", "bookshop", "get", "pods", "-l", "app=bookstore", "--sort-by=.metadata.creationTimestamp",
		"-o", "jsonpath={.items[-1:].status.podIP}")
	t.Run("native", func(t *testing.T) {
		testLogLevel(t, newest, "native", "level=DEBUG")
		expect("bookbuyer", booksURL, 200)
		expect("bookthief", booksURL, 403)
		expect("bookbuyer", "http://bookstore.bookshop/healthz", 403)
		testOSMPolicies(t, hostPort(newest, 9080))
	})
	permissive("true")
	expect("bookthief", booksURL, 200)
	deletedMeshConfig(t, expect)
	permissive("false")
	expect("bookthief", booksURL, 403)
	expect("bookbuyer", booksURL, 200)
	run(t, "-n", "bookshop", "delete", "traffictarget", "bookstore")
	expect("bookbuyer", booksURL, 403)
}

// testLogLevel checks that the sidecar of a running pod of bookstore gets the log level of MeshConfig, and the default
// again: at debug, it logs what a request does.
func testLogLevel(t *testing.T, ip, container, line string) {
	t.Helper()
	level := func(value string) {
		t.Helper()
		run(t, "-n", "bookshop", "patch", "meshconfig", "osm-mesh-config", "--type=merge", "-p",
			`{"spec":{"sidecar":{"logLevel":`+value+`}}}`)
	}
	pod := run(t, "-n", "bookshop", "get", "pods", "--field-selector=status.podIP="+ip, "-o", "jsonpath={.items[0].metadata.name}")
	// lines returns the number of such lines after a request.
	lines := func() (int, error) {
		if o, err := callFromIn(t.Context(), "bookshop", "bookbuyer", booksURL); err != nil || o.Status != 200 {
			return 0, fmt.Errorf("a request while the level changes: %+v, %w", o, err)
		}
		out, err := kubectl(t.Context(), "-n", "bookshop", "logs", pod, "-c", container)
		return strings.Count(out, line), err
	}
	if n, err := lines(); err != nil || n > 0 {
		t.Errorf("%d lines with %s at the level error, %v", n, line, err)
	}
	level(`"debug"`)
	eventually(t, 20*time.Second, container+" logs at debug", func() error {
		n, err := lines()
		if err == nil && n == 0 {
			return fmt.Errorf("no line with %s", line)
		}
		return err
	})
	level("null")
	before := 0
	eventually(t, 20*time.Second, container+" logs at the default level", func() error {
		n, err := lines()
		if more := n - before; err == nil && more > 0 {
			before = n
			return fmt.Errorf("%d more lines with %s", more, line)
		}
		return err
	})
}

// dropSettings deletes the copy of the MeshConfig when the test ends. Call it before the MeshConfig is applied.
func dropSettings(t *testing.T) {
	t.Cleanup(func() {
		if _, err := kubectl(context.Background(), "-n", "anymesh-system", "delete", "meshconfig", "osm-mesh-config-last",
			"--ignore-not-found"); err != nil {
			t.Error(err)
		}
	})
}

// deletedMeshConfig deletes the MeshConfig in permissive mode, and creates it again. The settings stay in force, by a
// copy in the namespace of the control plane.
func deletedMeshConfig(t *testing.T, expect func(client, target string, status int)) {
	t.Helper()
	const lasts = "jsonpath={.spec.traffic.enablePermissiveTrafficPolicyMode}{.status.conditions[0].status}"
	last := func(want string) {
		t.Helper()
		eventually(t, 30*time.Second, "the copy has "+want, func() error {
			got, err := kubectl(t.Context(), "-n", "anymesh-system", "get", "meshconfig", "osm-mesh-config-last", "-o", lasts)
			if err == nil && got != want {
				return fmt.Errorf("it has %s", got)
			}
			return err
		})
	}
	last("trueTrue")
	run(t, "-n", "bookshop", "delete", "meshconfig", "osm-mesh-config")
	last("trueFalse")
	expect("bookthief", booksURL, 200)
	eventually(t, 30*time.Second, "an event tells it", func() error {
		events := run(t, "-n", "anymesh-system", "get", "events", "--field-selector=involvedObject.kind=MeshConfig", "-o",
			"jsonpath={.items[*].message}")
		if !strings.Contains(events, "is in force with the last settings") {
			return fmt.Errorf("events: %s", events)
		}
		return nil
	})
	apply(t, `
apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshConfig
metadata: {name: osm-mesh-config, namespace: bookshop}
spec: {traffic: {enablePermissiveTrafficPolicyMode: true, enableEgress: false}}
`)
	last("trueTrue")
	expect("bookthief", booksURL, 200)
}
