package v1beta2_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	appmesh "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

func strictDecoder(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := appmesh.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

func TestSamplesDecodeStrictly(t *testing.T) {
	text, err := os.ReadFile("testdata/samples.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decoder, kinds := strictDecoder(t), map[string]int{}
	for _, doc := range bytes.Split(text, []byte("\n---\n")) {
		object, gvk, err := decoder.Decode(doc, nil, nil)
		if err != nil {
			t.Errorf("%v in\n%s", err, doc)
			continue
		}
		kinds[gvk.Kind]++
		if router, ok := object.(*appmesh.VirtualRouter); ok {
			if got := router.Spec.Routes[0].HTTPRoute.Action.WeightedTargets[0].VirtualNodeRef.Name; got != "node-v1" {
				t.Errorf("target is %q, want node-v1", got)
			}
		}
	}
	for _, kind := range []string{"Mesh", "VirtualNode", "VirtualService", "VirtualRouter"} {
		if kinds[kind] == 0 {
			t.Errorf("no sample of kind %s", kind)
		}
	}
}

// TestUnknownFieldsAreErrors checks that decoding is strict. No release had these names.
func TestUnknownFieldsAreErrors(t *testing.T) {
	for field, manifest := range map[string]string{
		`"spec.hosts"`:            "{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualService, metadata: {name: a}, spec: {hosts: [a]}}",
		`"spec.routes[0].http"`:   "{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualRouter, metadata: {name: a}, spec: {routes: [{name: r, http: {}}]}}",
		`"spec.virtualServices"`:  "{apiVersion: appmesh.k8s.aws/v1beta2, kind: BackendGroup, metadata: {name: a}, spec: {virtualServices: []}}",
		`no kind "VirtualNode"`:   "{apiVersion: appmesh.k8s.aws/v1beta1, kind: VirtualNode, metadata: {name: a}}",
		`"spec.resourceSelector"`: "{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: a}, spec: {resourceSelector: {}}}",
	} {
		t.Run(field, func(t *testing.T) {
			_, _, err := strictDecoder(t).Decode([]byte("---\n"+manifest), nil, nil)
			if err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("got error %v, want one with %s", err, field)
			}
		})
	}
}
