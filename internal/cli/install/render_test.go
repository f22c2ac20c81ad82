package install

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"anymesh.dev/anymesh/charts/dashboard"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
)

func render(t *testing.T, o Options) []*unstructured.Unstructured {
	t.Helper()
	objects, err := Manifests(o)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func find(t *testing.T, objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	t.Fatalf("no %s %s in the manifests", kind, name)
	return nil
}

func TestManifestOrder(t *testing.T) {
	var last int
	order := []string{"Namespace", "CustomResourceDefinition", "", "Deployment", "WebhookConfiguration"}
	for _, o := range render(t, Options{Namespace: "anymesh-system"}) {
		place := 2
		for i, kind := range order {
			if kind != "" && strings.HasSuffix(o.GetKind(), kind) {
				place = i
			}
		}
		if place < last {
			t.Errorf("%s %s is in the wrong position", o.GetKind(), o.GetName())
		}
		last = place
	}
	if last != 4 {
		t.Errorf("no webhook configurations in the manifests")
	}
}

func TestManifestsAreDeterministic(t *testing.T) {
	first, err := YAML(render(t, Options{Namespace: "n"}))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, _ := YAML(render(t, Options{Namespace: "n"}))
		if !bytes.Equal(first, again) {
			t.Fatal("two renderings differ")
		}
	}
}

func TestValuesInMeshConfig(t *testing.T) {
	objects := render(t, Options{Namespace: "elsewhere", Values: map[string]any{
		"osm": map[string]any{"sidecarImage": "mine:1", "sidecarDrivers": []any{map[string]any{"sidecarName": "envoy", "proxyServerPort": 16000}}},
	}})
	config := find(t, objects, "ConfigMap", "preset-mesh-config")
	text, _, _ := unstructured.NestedString(config.Object, "data", "preset-mesh-config.json")
	if !strings.Contains(text, `"sidecarImage": "mine:1"`) || config.GetNamespace() != "elsewhere" {
		t.Errorf("namespace %s: got configuration %s", config.GetNamespace(), text)
	}
	ports, _, _ := unstructured.NestedSlice(find(t, objects, "Service", "anymesh").Object, "spec", "ports")
	if port := ports[0].(map[string]any)["port"]; port != int64(16000) {
		t.Errorf("got Service port %v for sidecars, want 16000", port)
	}
}

// Every driver has its own port in the Service and in the container.
func TestDriverPorts(t *testing.T) {
	entry := func(name string, port int) map[string]any {
		out := map[string]any{"sidecarName": name}
		if port != 0 {
			out["proxyServerPort"] = port
		}
		return out
	}
	for name, c := range map[string]struct {
		drivers []any
		want    string
		fails   string
	}{
		"no driver":               {nil, "xds:15128", ""},
		"default driver":          {[]any{entry("Envoy", 16000)}, "xds:16000", ""},
		"two drivers":             {[]any{entry("Other", 16001), entry("envoy", 16000)}, "xds:16000 xds-other:16001", ""},
		"duplicate driver":        {[]any{entry("other", 16001), entry("other", 16002)}, "xds:15128 xds-other:16001", ""},
		"shared port":             {[]any{entry("other", 15128)}, "", "envoy and other are both on port 15128"},
		"two drivers, no ports":   {[]any{entry("other", 0), entry("envoy", 0)}, "", "envoy and other are both on port 15128"},
		"name is not a DNS label": {[]any{entry("other_one", 16001)}, "", "sidecarName"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := Manifests(Options{
				Namespace: "n", Values: map[string]any{"osm": map[string]any{"sidecarDrivers": c.drivers}},
			})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got %v, want error %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got, targetPorts []string
			ports, _, _ := unstructured.NestedSlice(find(t, objects, "Service", "anymesh").Object, "spec", "ports")
			for _, p := range ports {
				port := p.(map[string]any)
				if text := fmt.Sprint(port["name"]); strings.HasPrefix(text, "xds") {
					got = append(got, fmt.Sprintf("%s:%d", text, port["port"]))
					targetPorts = append(targetPorts, fmt.Sprint(port["targetPort"]))
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got Service ports %q, want %s", got, c.want)
			}
			containers, _, _ := unstructured.NestedSlice(find(t, objects, "Deployment", "anymesh").Object, "spec",
				"template", "spec", "containers")
			containerPorts, _, _ := unstructured.NestedSlice(containers[0].(map[string]any), "ports")
			for i, port := range targetPorts {
				if fmt.Sprint(containerPorts[i].(map[string]any)["containerPort"]) != port {
					t.Errorf("got container ports %v, want first %q", containerPorts, targetPorts)
				}
			}
		})
	}
}

// The roles have no wildcards, except for the keys of the extra fields of users.
func TestLeastPrivilege(t *testing.T) {
	hooks, err := Hooks(Options{Namespace: "n"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range append(render(t, Options{Namespace: "n", Values: withAggregator}), hooks...) {
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		for _, r := range rules {
			if verbs, _, _ := unstructured.NestedStringSlice(r.(map[string]any), "verbs"); slices.Equal(verbs,
				[]string{"impersonate"}) {
				continue
			}
			for _, field := range []string{"verbs", "resources", "apiGroups"} {
				values, _, _ := unstructured.NestedStringSlice(r.(map[string]any), field)
				for _, v := range values {
					if v == "*" {
						t.Errorf("%s %s has a wildcard in %s", o.GetKind(), o.GetName(), field)
					}
				}
			}
		}
	}
}

// The program learns the memory limit of its container, which is set by default.
func TestMemoryLimitEnv(t *testing.T) {
	none := map[string]any{"resources": map[string]any{"limits": nil}}
	if got := env(t, none); len(got) != 0 {
		t.Errorf("without memory limit: got %v", got)
	}
	for name, values := range map[string]map[string]any{"default": nil, "of the user": resources("memory", "512Mi")} {
		got := env(t, values)
		if len(got) != 1 || got[0].(map[string]any)["name"] != "ANYMESH_MEMORY_LIMIT" {
			t.Errorf("with memory limit, %s: got %v", name, got)
		}
	}
}

func TestTracesEndpointEnv(t *testing.T) {
	const endpoint = "http://collector:4317"
	values := resources("memory", "512Mi")
	values["traces"] = map[string]any{"endpoint": endpoint}
	got := env(t, values)
	want := map[string]any{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": endpoint}
	if len(got) != 2 || !maps.Equal(got[1].(map[string]any), want) {
		t.Errorf("with a collector: got %v", got)
	}
	values["traces"] = map[string]any{"endpoint": "collector:4317"}
	if _, err := Manifests(Options{Namespace: "n", Values: values}); err == nil {
		t.Error("no error for an endpoint without scheme")
	}
}

// resources returns values with a resource limit of the control plane.
func resources(name, limit string) map[string]any {
	return map[string]any{"resources": map[string]any{"limits": map[string]any{name: limit}}}
}

// env returns the environment variables of the control plane, without the first, which has the addresses of the node.
func env(t *testing.T, values map[string]any) []any {
	t.Helper()
	objects := render(t, Options{Namespace: "n", Values: values})
	containers, _, _ := unstructured.NestedSlice(find(t, objects, "Deployment", "anymesh").Object, "spec", "template",
		"spec", "containers")
	list, _, _ := unstructured.NestedSlice(containers[0].(map[string]any), "env")
	if len(list) == 0 || list[0].(map[string]any)["name"] != "ANYMESH_NODE_IPS" {
		t.Fatalf("the first variable has not the addresses of the node: %v", list)
	}
	return list[1:]
}

// Nodes can be drained with any number of replicas: one of two replicas keeps running, and a single replica does not
// block the eviction.
func TestPodDisruptionBudget(t *testing.T) {
	objects := render(t, Options{Namespace: "n"})
	budget, deployment := find(t, objects, "PodDisruptionBudget", "anymesh"), find(t, objects, "Deployment", "anymesh")
	if got, _, _ := unstructured.NestedInt64(budget.Object, "spec", "maxUnavailable"); got != 1 {
		t.Errorf("got maxUnavailable %d, want 1", got)
	}
	selector, _, _ := unstructured.NestedStringMap(budget.Object, "spec", "selector", "matchLabels")
	labels, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "template", "metadata", "labels")
	for name, value := range selector {
		if labels[name] != value {
			t.Errorf("the budget selects pods with %s=%s, the Deployment has %q", name, value, labels[name])
		}
	}
	if len(selector) == 0 {
		t.Error("the budget selects all pods")
	}
}

var withAggregator = map[string]any{"aggregator": map[string]any{"enabled": true}}

// The aggregator is installed only on request. Its namespaces come before what is in them, and the API server is told
// about it last.
func TestAggregatorOption(t *testing.T) {
	for _, o := range render(t, Options{Namespace: "n"}) {
		if strings.Contains(o.GetName(), "aggregator") || o.GetKind() == "APIService" {
			t.Errorf("got %s %s by default", o.GetKind(), o.GetName())
		}
	}
	objects := render(t, Options{Namespace: "n", Values: withAggregator, SkipCRDs: true})
	deployment := find(t, objects, "Deployment", "anymesh-aggregator")
	if replicas, _, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas"); replicas != 2 {
		t.Errorf("got %d replicas", replicas)
	}
	if o := objects[1]; o.GetKind() != "Namespace" || o.GetName() != "anymesh-clusters" {
		t.Errorf("the second object is %s %s", o.GetKind(), o.GetName())
	}
	service := find(t, objects, "APIService", "v1alpha1.search.karmada.io")
	if i := slices.Index(objects, service); i < slices.Index(objects, deployment) {
		t.Errorf("the APIService is object %d, before the Deployment", i)
	}
	values := map[string]any{"aggregator": map[string]any{"enabled": true, "apiService": false}}
	for _, o := range render(t, Options{Namespace: "n", Values: values}) {
		if o.GetKind() == "APIService" {
			t.Error("got an APIService beside Karmada")
		}
	}
}

// The dashboard is installed only on request.
func TestDashboardOption(t *testing.T) {
	installed := func(values map[string]any) string {
		for _, o := range render(t, Options{Namespace: "n", Values: values}) {
			if o.GetName() == "anymesh-dashboard" {
				text, _, _ := unstructured.NestedString(o.Object, "data", "anymesh.json")
				return text
			}
		}
		return ""
	}
	if text := installed(nil); text != "" {
		t.Error("got a dashboard by default")
	}
	if text := installed(map[string]any{"dashboard": map[string]any{"enabled": true}}); text != string(dashboard.ControlPlane.JSON()) {
		t.Errorf("got dashboard %.200q", text)
	}
}
