package install

import (
	"bytes"
	"fmt"
	"maps"
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
	t.Fatalf("no %s %s among the manifests", kind, name)
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
			t.Errorf("%s %s comes after its time", o.GetKind(), o.GetName())
		}
		last = place
	}
	if last != 4 {
		t.Errorf("no webhooks among the manifests")
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
			t.Fatal("manifests differ from one rendering to the next")
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
		t.Errorf("configuration in %s: %s", config.GetNamespace(), text)
	}
	ports, _, _ := unstructured.NestedSlice(find(t, objects, "Service", "anymesh").Object, "spec", "ports")
	if port := ports[0].(map[string]any)["port"]; port != int64(16000) {
		t.Errorf("the service's port for sidecars is %v", port)
	}
}

// Every driver has a port of the Service and of the container, and none shares it.
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
		"none":                    {nil, "xds:15128", ""},
		"the default one":         {[]any{entry("Envoy", 16000)}, "xds:16000", ""},
		"two":                     {[]any{entry("Other", 16001), entry("envoy", 16000)}, "xds:16000 xds-other:16001", ""},
		"one twice":               {[]any{entry("other", 16001), entry("other", 16002)}, "xds:15128 xds-other:16001", ""},
		"two on a port":           {[]any{entry("other", 15128)}, "", "envoy and other are both on port 15128"},
		"two that say none":       {[]any{entry("other", 0), entry("envoy", 0)}, "", "envoy and other are both on port 15128"},
		"a name that is no label": {[]any{entry("other_one", 16001)}, "", "sidecarName"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := Manifests(Options{
				Namespace: "n", Values: map[string]any{"osm": map[string]any{"sidecarDrivers": c.drivers}},
			})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%v; want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got, listens []string
			ports, _, _ := unstructured.NestedSlice(find(t, objects, "Service", "anymesh").Object, "spec", "ports")
			for _, p := range ports {
				port := p.(map[string]any)
				if text := fmt.Sprint(port["name"]); strings.HasPrefix(text, "xds") {
					got = append(got, fmt.Sprintf("%s:%d", text, port["port"]))
					listens = append(listens, fmt.Sprint(port["targetPort"]))
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("ports of the Service: %q, want %s", got, c.want)
			}
			containers, _, _ := unstructured.NestedSlice(find(t, objects, "Deployment", "anymesh").Object, "spec",
				"template", "spec", "containers")
			of, _, _ := unstructured.NestedSlice(containers[0].(map[string]any), "ports")
			for i, port := range listens {
				if fmt.Sprint(of[i].(map[string]any)["containerPort"]) != port {
					t.Errorf("ports of the container: %v, want %q first", of, listens)
				}
			}
		})
	}
}

func TestValuesSchema(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"unknown name":  {"imagee": "x"},
		"wrong type":    {"replicas": "two"},
		"out of range":  {"replicas": 0},
		"unknown level": {"osm": map[string]any{"sidecarLogLevel": "loud"}},
	} {
		if _, err := Manifests(Options{Namespace: "n", Values: values}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Our own pods get only what they need.
func TestLeastPrivilege(t *testing.T) {
	for _, o := range render(t, Options{Namespace: "n"}) {
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		for _, r := range rules {
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

// A limit of memory is told to Go, which knows of none by itself.
func TestMemoryLimitEnv(t *testing.T) {
	if got := env(t, resources("cpu", "1")); got != nil {
		t.Errorf("without a limit of memory: %v", got)
	}
	got := env(t, resources("memory", "512Mi"))
	if len(got) != 1 || got[0].(map[string]any)["name"] != "GOMEMLIMIT" {
		t.Errorf("with a limit of memory: %v", got)
	}
}

// A collector of traces is told by the variable that OpenTelemetry defines.
func TestTracesEndpointEnv(t *testing.T) {
	const endpoint = "http://collector:4317"
	values := resources("memory", "512Mi")
	values["traces"] = map[string]any{"endpoint": endpoint}
	got := env(t, values)
	want := map[string]any{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": endpoint}
	if len(got) != 2 || !maps.Equal(got[1].(map[string]any), want) {
		t.Errorf("with a collector: %v", got)
	}
	values["traces"] = map[string]any{"endpoint": "collector:4317"}
	if _, err := Manifests(Options{Namespace: "n", Values: values}); err == nil {
		t.Error("an endpoint without a scheme is accepted")
	}
}

// resources limits one resource of the control plane.
func resources(name, limit string) map[string]any {
	return map[string]any{"resources": map[string]any{"limits": map[string]any{name: limit}}}
}

// env is the environment of the control plane that is installed with the values.
func env(t *testing.T, values map[string]any) []any {
	t.Helper()
	objects := render(t, Options{Namespace: "n", Values: values})
	containers, _, _ := unstructured.NestedSlice(find(t, objects, "Deployment", "anymesh").Object, "spec", "template",
		"spec", "containers")
	list, _, _ := unstructured.NestedSlice(containers[0].(map[string]any), "env")
	return list
}

// Nodes can be drained with any number of replicas: of two, one stays, and an only one holds nobody up.
func TestPodDisruptionBudget(t *testing.T) {
	objects := render(t, Options{Namespace: "n"})
	budget, deployment := find(t, objects, "PodDisruptionBudget", "anymesh"), find(t, objects, "Deployment", "anymesh")
	if most, _, _ := unstructured.NestedInt64(budget.Object, "spec", "maxUnavailable"); most != 1 {
		t.Errorf("at most %d may be away", most)
	}
	chosen, _, _ := unstructured.NestedStringMap(budget.Object, "spec", "selector", "matchLabels")
	labels, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "template", "metadata", "labels")
	for name, value := range chosen {
		if labels[name] != value {
			t.Errorf("the budget chooses pods with %s=%s, ours have %q", name, value, labels[name])
		}
	}
	if len(chosen) == 0 {
		t.Error("the budget chooses every pod")
	}
}

// The dashboard comes when it is asked for, whole.
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
		t.Error("nobody asked for a dashboard")
	}
	if text := installed(map[string]any{"dashboard": map[string]any{"enabled": true}}); text != string(dashboard.JSON()) {
		t.Errorf("the dashboard is %.200q", text)
	}
}
