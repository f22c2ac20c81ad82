package trait

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/api/crds"
)

// Fields of the former controller are taken over, and what it left is removed.
func TestObjectsOfTheFormerController(t *testing.T) {
	ns := newNamespace(t)
	apply(t, ns, deployment+"---"+hostOnly)
	r := routeOf(t, ns, "site")
	for _, name := range []string{"site", "site-0"} {
		kind, spec := "Service", map[string]any{"selector": map[string]any{"app": "web"}, "ports": []any{map[string]any{"port": int64(8080)}}}
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "spec": spec}}
		if name == "site-0" {
			kind = "ConfigMap"
			delete(o.Object, "spec")
		}
		o.SetKind(kind)
		o.SetNamespace(ns)
		o.SetName(name)
		o.Object["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{
			"apiVersion": routeVersion, "kind": "Route", "name": "site", "uid": string(r.UID), "controller": true, "blockOwnerDeletion": true,
		}}
		o.Object["metadata"].(map[string]any)["annotations"] = map[string]any{"kubernetes.io/ingress.class": ""}
		former := client.FieldOwner(string(r.UID))
		err := lab.client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), former, client.ForceOwnership)
		if err != nil {
			t.Fatal(err)
		}
	}
	start(t)
	eventually(t, "the Route", func() error { return wantReady(t, ns, "site", "False", "NotServed") })
	if o := get(t, "v1", "ConfigMap", ns, "site-0"); o != nil {
		t.Error("the object of the former controller still exists")
	}
	service := get(t, "v1", "Service", ns, "site")
	if value, ok := service.GetAnnotations()["kubernetes.io/ingress.class"]; ok {
		t.Errorf("the annotation %q of the former controller still exists", value)
	}
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	if ports[0].(map[string]any)["name"] != "tcp-8080" {
		t.Errorf("ports are %v", ports)
	}
}

// The definition of KubeVela has no observedGeneration in conditions.
func TestFormerDefinition(t *testing.T) {
	text, err := crds.Files.ReadFile("standard.oam.dev_routes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := decode(string(text))
	if err != nil {
		t.Fatal(err)
	}
	crd := objects[0]
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	unstructured.RemoveNestedField(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "status", "properties",
		"conditions", "items", "properties", "observedGeneration")
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	options := []client.ApplyOption{client.FieldOwner("user"), client.ForceOwnership}
	if err := lab.client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(crd), options...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := applyAll(context.Background(), string(text), ""); err != nil {
			t.Error(err)
		}
	})
	start(t)
	for attempt := 0; ; attempt++ { // the API server takes some time to use the definition
		ns := newNamespace(t)
		apply(t, ns, strings.Replace(deployment+"---"+hostOnly, "shop.example.com", "localhost", 1))
		eventually(t, "the status", func() error {
			if r := routeOf(t, ns, "site"); r.Status.Status != "Ready" || r.Status.Service == nil {
				return fmt.Errorf("%+v", r.Status)
			}
			return nil
		})
		if c := routeOf(t, ns, "site").Status.Conditions[0]; c.ObservedGeneration == 0 {
			return
		}
		if attempt > 20 {
			t.Fatal("the API server still uses the other definition")
		}
	}
}
