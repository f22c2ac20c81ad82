package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const versionsNamespace = `{apiVersion: v1, kind: Namespace, metadata: {name: versions, labels: {openservicemesh.io/monitored-by: osm}}}
`

// TestPortOfAnOlderTrafficTarget applies a TrafficTarget of v1alpha1 with a port, and a file of v1alpha3 over it, which
// cannot have one. kubectl keeps the annotation with the port, the status says so, and the annotation can be removed.
// Applied by the server, the port goes with the file that had it.
func TestPortOfAnOlderTrafficTarget(t *testing.T) {
	dropSettings(t)
	const account = "{kind: ServiceAccount, name: api, namespace: versions"
	const older = `
apiVersion: access.smi-spec.io/v1alpha1
kind: TrafficTarget
metadata: {name: api, namespace: versions}
destination: ` + account + `, port: 8080}
specs: [{kind: HTTPRouteGroup, name: all}]
sources: [` + account + `}]
`
	const newer = `
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: {name: api, namespace: versions}
spec:
  destination: ` + account + `}
  rules: [{kind: HTTPRouteGroup, name: all}]
  sources: [` + account + `}]
`
	apply(t, versionsNamespace+`---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: api, namespace: versions}}
---
{apiVersion: specs.smi-spec.io/v1alpha4, kind: HTTPRouteGroup, metadata: {name: all, namespace: versions}, spec: {matches: [{name: all}]}}
`)
	get := func(path string) string {
		t.Helper()
		return run(t, "-n", "versions", "get", "traffictargets.v1alpha3.access.smi-spec.io", "api", "-o", path)
	}
	want := func(port string, warned bool) {
		t.Helper()
		if got := get(`jsonpath={.metadata.annotations.anymesh\.dev/smi-destination-port}`); got != port {
			t.Errorf("the annotation is %q, want %q", got, port)
		}
		eventually(t, 20*time.Second, fmt.Sprintf("status with a warning: %v", warned), func() error {
			served := get(`jsonpath={.status.conditions[?(@.type=="Served")]}`)
			if !strings.Contains(served, `"True"`) || strings.Contains(served, "restricts the TrafficTarget to port 8080") != warned {
				return fmt.Errorf("the condition is %s", served)
			}
			return nil
		})
	}
	put := func(text string, options ...string) {
		t.Helper()
		if _, err := kubectlInput(t.Context(), text, append([]string{"apply", "-f", "-"}, options...)...); err != nil {
			t.Fatal(err)
		}
	}
	put(older)
	want("8080", false)
	put(newer)
	want("8080", true)
	run(t, "-n", "versions", "annotate", "traffictarget", "api", "anymesh.dev/smi-destination-port-")
	want("", false)
	run(t, "-n", "versions", "delete", "traffictarget", "api")
	put(older, "--server-side")
	want("8080", false)
	put(newer, "--server-side")
	want("", false)
}

// TestKindsWithoutEffect creates objects of kinds that others define: they have events.
func TestKindsWithoutEffect(t *testing.T) {
	dropSettings(t)
	apply(t, versionsNamespace)
	for _, kind := range []struct{ kind, resource, group, version string }{
		{"UDPRoute", "udproutes", "specs.smi-spec.io", "v1alpha4"}, {"PluginChain", "pluginchains", "plugin.flomesh.io", "v1alpha1"},
	} {
		apply(t, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.%[3]s}
spec:
  group: %[3]s
  scope: Namespaced
  names: {kind: %[1]s, plural: %[2]s, singular: %[4]s}
  versions:
    - name: %[5]s
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, kind.kind, kind.resource, kind.group, strings.ToLower(kind.kind), kind.version))
		waitEstablished(t, kind.resource+"."+kind.group)
		apply(t, fmt.Sprintf("{apiVersion: %s/%s, kind: %s, metadata: {name: none, namespace: versions}, spec: {any: thing}}",
			kind.group, kind.version, kind.kind))
		eventually(t, time.Minute, "an event about the "+kind.kind, func() error {
			events := run(t, "-n", "versions", "get", "events", "--field-selector", "involvedObject.kind="+kind.kind, "-o",
				`jsonpath={.items[*]['reason','message']}`)
			if !strings.Contains(events, "FieldNotImplemented") || !strings.Contains(events, "has no effect: ") {
				return fmt.Errorf("the events are %q", events)
			}
			return nil
		})
	}
}
