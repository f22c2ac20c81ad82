package controlplane

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A definition that a user applies again has no conversion. The control plane restores it, and does not write if it is
// there.
func TestConversionIsRestored(t *testing.T) {
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/trafficsplits.split.smi-spec.io"
	k := newPopulatedAPI(t)
	apply := func() {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
		o.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		o.SetName("trafficsplits.split.smi-spec.io")
		k.apply(path, o)
	}
	current := func() *unstructured.Unstructured {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.objects[path]
	}
	converted := func() bool { return conversionOf(current()).Strategy == apiextensionsv1.WebhookConverter }
	process := newAPIProcess(t, k)
	process.run()
	r := startReplica(t, "a", process.address)
	for _, when := range []string{"first", "again"} {
		apply()
		r.eventually("the definition that is applied "+when+" has a conversion", converted)
	}
	written := current().GetResourceVersion()
	if err := r.updateConversions(t.Context(), r.ca.Bundle().PEM()); err != nil {
		t.Fatal(err)
	}
	if got := current().GetResourceVersion(); got != written {
		t.Errorf("a definition with the conversion was written: version %s, then %s", written, got)
	}
}
