package ingressobject

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/snapshot"
)

// TestStateOfAnIngressThatIsNotServed checks that a Route waits because of the error of a port in the status of its
// Ingress.
func TestStateOfAnIngressThatIsNotServed(t *testing.T) {
	route := provider.Route{Namespace: "shop", Name: "two", Rules: []provider.Rule{{Name: "0"}}}
	class := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "anymesh"}}}
	class.SetGroupVersionKind(provider.IngressClassKind)
	entry := map[string]any{"ip": "10.0.0.1"}
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": Name(route, route.Rules[0])},
		"status":   map[string]any{"loadBalancer": map[string]any{"ingress": []any{entry}}},
	}}
	object.SetGroupVersionKind(provider.IngressKind)
	reader := snapshot.Cluster{class, object}
	if state := State(route, reader, "anymesh"); state.Waiting != nil || len(state.Addresses) != 1 {
		t.Errorf("without an error: %+v", state)
	}
	entry["ports"] = []any{map[string]any{"port": int64(80), "protocol": "TCP", "error": "anymesh.dev/NameConflict"}}
	if state := State(route, reader, "anymesh"); state.Waiting == nil || state.Waiting.Reason != "NotServed" {
		t.Errorf("with an error: %+v", state)
	}
}
