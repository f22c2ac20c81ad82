package install

import (
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// A second installation keeps the values of the first, and says which it keeps and changes.
func TestValuesAreKept(t *testing.T) {
	c := newCluster(interceptor.Funcs{})
	if got, err := EarlierValues(t.Context(), c, "n"); err != nil || got != nil {
		t.Fatalf("before an installation: got %v, %v", got, err)
	}
	first := map[string]any{"replicas": int64(2), "osm": map[string]any{"dns": "All", "sidecarImage": "x"}, "logLevel": "info"}
	record, err := ValuesObject(Options{Namespace: "n", Values: first})
	if err != nil {
		t.Fatal(err)
	}
	configuration := client.ApplyConfigurationFromUnstructured(record)
	if err := c.Apply(t.Context(), configuration, client.FieldOwner("test")); err != nil {
		t.Fatal(err)
	}
	earlier, err := EarlierValues(t.Context(), c, "n")
	if err != nil {
		t.Fatal(err)
	}
	merged, kept, changed := KeepValues(map[string]any{"replicas": int64(2), "osm": map[string]any{"dns": "Off"}}, earlier)
	if want := []string{"logLevel=info", "osm.sidecarImage=x"}; !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
	if want := []string{"osm.dns=Off (it was All)"}; !slices.Equal(changed, want) {
		t.Errorf("changed %q, want %q", changed, want)
	}
	osm := merged["osm"].(map[string]any)
	if osm["dns"] != "Off" || osm["sidecarImage"] != "x" || merged["logLevel"] != "info" {
		t.Errorf("merged values: %v", merged)
	}
}

// TestValuesSchema checks values that the cluster would refuse.
func TestValuesSchema(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"unknown name":  {"imagee": "x"},
		"wrong type":    {"replicas": "two"},
		"out of range":  {"replicas": 0},
		"unknown level": {"osm": map[string]any{"sidecarLogLevel": "loud"}},
		"no budget":     {"ingress": map[string]any{"podDisruptionBudget": map[string]any{"maxUnavailable": "some"}}},
		"no replicas":   {"ingress": map[string]any{"autoscaling": map[string]any{"minReplicas": 0}}},
		"no range": {"ingress": map[string]any{"autoscaling": map[string]any{
			"enabled": true, "minReplicas": 5, "maxReplicas": 4,
		}}},
		"no provider":     {"routeTrait": map[string]any{"provider": "traefik"}},
		"no duration":     {"aggregator": map[string]any{"grace": "forever"}},
		"no trust domain": {"trustDomain": nil},
		"no quantity":     {"resources": map[string]any{"limits": map[string]any{"memory": "1 Gi"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Manifests(Options{Namespace: "n", Values: values}); err == nil {
				t.Error("got no error")
			}
		})
	}
}

// TestUninstallationRendersAllParts checks that values that can be installed can be uninstalled: what is refused does
// not depend on the parts that are enabled.
func TestUninstallationRendersAllParts(t *testing.T) {
	for _, values := range []map[string]any{
		{"aggregator": map[string]any{"integerResourceVersions": true}},
		{"aggregator": map[string]any{"integerResourceVersions": true, "replicas": 1, "authorizeClusters": true}},
		{"ingress": map[string]any{"autoscaling": map[string]any{"minReplicas": 5, "maxReplicas": 4}}},
	} {
		o := Options{Namespace: "n", Values: values, SkipCRDs: true}
		_, err := Manifests(o)
		if _, all := Manifests(o.WithOptionalParts()); (err == nil) != (all == nil) {
			t.Errorf("%v: installation: %v; uninstallation: %v", values, err, all)
		}
	}
}
