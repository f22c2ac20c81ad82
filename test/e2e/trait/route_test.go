package trait

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	standard "anymesh.dev/anymesh/api/oam/standard/v1alpha1"
)

const routeVersion = "standard.oam.dev/v1alpha1"

// deployment is a Deployment with a pod, which nothing else would create here.
const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: web, image: web, ports: [{containerPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, labels: {app: web}}
spec: {containers: [{name: web, image: web, ports: [{containerPort: 8080}]}]}
`

const hostOnly = `
apiVersion: standard.oam.dev/v1alpha1
kind: Route
metadata: {name: site, labels: {team: blue}}
spec:
  host: shop.example.com
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
`

// before returns the first of two manifests, and after the second.
func before(manifests string) string {
	first, _, _ := strings.Cut(manifests, "---")
	return first
}

func after(manifests string) string {
	_, second, _ := strings.Cut(manifests, "---\n")
	return second
}

// routeOf reads a Route.
func routeOf(t *testing.T, namespace, name string) *standard.Route {
	t.Helper()
	out := &standard.Route{}
	o := get(t, routeVersion, "Route", namespace, name)
	if o == nil {
		t.Fatalf("no Route %s", name)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// wantReady returns an error unless the condition Ready has a status and reason, for the current generation.
func wantReady(t *testing.T, namespace, name, status, reason string) error {
	t.Helper()
	r := routeOf(t, namespace, name)
	for _, c := range r.Status.Conditions {
		if c.Type == "Ready" && string(c.Status) == status && c.Reason == reason && c.ObservedGeneration == r.Generation {
			return nil
		}
	}
	text, _ := json.Marshal(r.Status)
	return fmt.Errorf("generation %d: want Ready=%s with reason %s, got %s", r.Generation, status, reason, text)
}

// serve makes the tiny provider ready.
func serve(t *testing.T, namespace string, names ...string) {
	t.Helper()
	for _, name := range names {
		eventually(t, "annotate "+name, func() error {
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(configMap)
			o.SetNamespace(namespace)
			o.SetName(name)
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {"served": "yes"}}}`))
			return lab.client.Patch(t.Context(), o, patch)
		})
	}
}

func TestRouteWithHostOnly(t *testing.T) {
	start(t)
	ns := newNamespace(t)
	apply(t, ns, deployment+"---"+hostOnly)
	eventually(t, "waits for the provider", func() error { return wantReady(t, ns, "site", "False", "NotServed") })
	if r := routeOf(t, ns, "site"); r.Status.Status != "Synced" {
		t.Errorf("status is %q, want Synced", r.Status.Status)
	}
	serve(t, ns, "site-auto-created-tiny")
	eventually(t, "ready", func() error { return wantReady(t, ns, "site", "True", "Available") })
	r := routeOf(t, ns, "site")
	served := get(t, "v1", "ConfigMap", ns, "site-auto-created-tiny")
	service := get(t, "v1", "Service", ns, "site")
	if r.Status.Status != "Ready" || len(r.Status.Ingresses) != 1 || r.Status.Ingresses[0].UID != string(served.GetUID()) ||
		r.Status.Service == nil || r.Status.Service.UID != string(service.GetUID()) {
		t.Errorf("got status %+v", r.Status)
	}
	if got := service.GetLabels(); got["team"] != "blue" {
		t.Errorf("labels of the Service are %v", got)
	}
	if owner := service.GetOwnerReferences(); len(owner) != 1 || owner[0].UID != r.UID {
		t.Errorf("owner of the Service is %v", owner)
	}
}

func TestRouteFollowsTheCluster(t *testing.T) {
	start(t)
	ns := newNamespace(t)
	apply(t, ns, hostOnly)
	eventually(t, "no workload", func() error { return wantReady(t, ns, "site", "False", "WorkloadNotFound") })
	apply(t, ns, deployment)
	eventually(t, "a workload", func() error { return wantReady(t, ns, "site", "False", "NotServed") })
	portIs := func(want int64) func() error {
		return func() error {
			service := get(t, "v1", "Service", ns, "site")
			if service == nil {
				return fmt.Errorf("no Service")
			}
			ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
			if got := ports[0].(map[string]any)["targetPort"]; len(ports) != 1 || got != want {
				return fmt.Errorf("got ports %v, want %d", ports, want)
			}
			return nil
		}
	}
	eventually(t, "the Service", portIs(8080))
	apply(t, ns, strings.ReplaceAll(before(deployment), "8080", "9090"))
	eventually(t, "the changed port", portIs(9090))
	remove(t, "v1", "Service", ns, "site")
	eventually(t, "the Service again", portIs(9090))
	remove(t, "v1", "Pod", ns, "web-1")
	eventually(t, "no pod", func() error { return wantReady(t, ns, "site", "False", "NoPods") })
}

func TestObjectsOfRemovedRulesAndProvidersAreRemoved(t *testing.T) {
	start(t)
	ns := newNamespace(t)
	withRules := func(rules string) string { return hostOnly + "  rules: " + rules + "\n" }
	apply(t, ns, deployment+"---"+withRules("[{name: a}, {name: b, path: /b}]"))
	exist := func(names ...string) func() error {
		return func() error {
			for _, name := range []string{"site-a-tiny", "site-b-tiny", "site-c-tiny", "site-a-other"} {
				want := strings.Contains(strings.Join(names, " "), name)
				if o := get(t, "v1", "ConfigMap", ns, name); (o != nil) != want {
					return fmt.Errorf("%s exists: %t, want %t", name, o != nil, want)
				}
			}
			return nil
		}
	}
	eventually(t, "two rules", exist("site-a-tiny", "site-b-tiny"))
	apply(t, ns, withRules("[{name: a}, {name: c, path: /b}]"))
	eventually(t, "a renamed rule", exist("site-a-tiny", "site-c-tiny"))
	apply(t, ns, withRules("[{name: a}]")+"  provider: other\n")
	eventually(t, "another provider", exist("site-a-other"))
	apply(t, ns, withRules("[{name: a}]")+"  provider: none\n")
	eventually(t, "an unknown provider", func() error { return wantReady(t, ns, "site", "False", "UnknownProvider") })
	eventually(t, "objects are kept", exist("site-a-other"))
	message := routeOf(t, ns, "site").Status.Conditions[0].Message
	if !strings.Contains(message, "tiny, other") {
		t.Errorf("message does not list the providers: %s", message)
	}
}

func TestServiceOfTheUserIsNotChanged(t *testing.T) {
	start(t)
	ns := newNamespace(t)
	apply(t, ns, deployment+`---
apiVersion: v1
kind: Service
metadata: {name: site}
spec: {selector: {app: mine}, ports: [{port: 1234}]}
`)
	before := get(t, "v1", "Service", ns, "site")
	apply(t, ns, hostOnly)
	eventually(t, "the conflict", func() error { return wantReady(t, ns, "site", "False", "ServiceExists") })
	if now := get(t, "v1", "Service", ns, "site"); now.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("the Service was changed: %v", now)
	}
	remove(t, "v1", "Service", ns, "site")
	eventually(t, "the Service of the Route", func() error { return wantReady(t, ns, "site", "False", "NotServed") })
}

func TestLocalHostsHaveAServiceOnly(t *testing.T) {
	start(t)
	ns := newNamespace(t)
	apply(t, ns, deployment+"---"+strings.Replace(hostOnly, "shop.example.com", `""`, 1))
	eventually(t, "ready", func() error { return wantReady(t, ns, "site", "True", "Available") })
	if r := routeOf(t, ns, "site"); r.Status.Status != "Ready" || len(r.Status.Ingresses) != 0 || r.Status.Service == nil {
		t.Errorf("got status %+v", r.Status)
	}
}
