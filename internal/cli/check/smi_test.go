package check

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	access "anymesh.dev/anymesh/api/smi/access/v1alpha3"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
)

// The webhook of another controller for kinds of SMI is a fault, unless it is for the namespaces of another mesh.
func TestOtherControllerOfSMI(t *testing.T) {
	const monitored = "openservicemesh.io/monitored-by"
	for name, c := range map[string]struct {
		group    string
		selector *metav1.LabelSelector
		mesh     string
		wants    bool
	}{
		"all namespaces":           {"access.smi-spec.io", nil, "osm", true},
		"the mesh":                 {"access.smi-spec.io", &metav1.LabelSelector{MatchLabels: map[string]string{monitored: "osm"}}, "osm", true},
		"another mesh":             {"access.smi-spec.io", &metav1.LabelSelector{MatchLabels: map[string]string{monitored: "osm"}}, "next", false},
		"no mesh":                  {"policy.openservicemesh.io", expression(monitored, metav1.LabelSelectorOpDoesNotExist), "osm", false},
		"every mesh":               {"split.smi-spec.io", expression(monitored, metav1.LabelSelectorOpExists), "next", true},
		"other meshes":             {"split.smi-spec.io", expression(monitored, metav1.LabelSelectorOpNotIn, "next"), "next", false},
		"one of several meshes":    {"split.smi-spec.io", expression(monitored, metav1.LabelSelectorOpIn, "osm", "next"), "next", true},
		"another kind of selector": {"specs.smi-spec.io", expression("team", metav1.LabelSelectorOpIn, "a"), "next", true},
		"another group":            {"example.com", nil, "osm", false},
	} {
		t.Run(name, func(t *testing.T) {
			dialects, err := dialect.Configured(dialect.Settings{Values: map[string]json.RawMessage{
				"osm": json.RawMessage(`{"meshName": "` + c.mesh + `"}`),
			}})
			if err != nil {
				t.Fatal(err)
			}
			kube := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(
				&admissionregistrationv1.ValidatingWebhookConfiguration{
					ObjectMeta: metav1.ObjectMeta{Name: "osm-validator"},
					Webhooks: []admissionregistrationv1.ValidatingWebhook{{
						Name: "validator.example.com", NamespaceSelector: c.selector,
						Rules: []admissionregistrationv1.RuleWithOperations{{Rule: admissionregistrationv1.Rule{APIGroups: []string{c.group}}}},
					}},
				}).Build()
			configured := func(context.Context) ([]dialect.Dialect, error) { return dialects, nil }
			_, err = otherController(t.Context(), &Cluster{Client: kube, Configured: configured})
			if got := err != nil && strings.HasPrefix(err.Error(), "ValidatingWebhookConfiguration osm-validator: "); got != c.wants {
				t.Errorf("got %v, want a fault: %v", err, c.wants)
			}
		})
	}
}

func expression(key string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
}

// The stored versions of OSM are compatible; a missing kind, and one with an unknown stored version, are faults.
func TestDefinitionsOfSMI(t *testing.T) {
	const name = "trafficsplits.split.smi-spec.io"
	scheme, err := dialect.NewScheme()
	if err == nil {
		err = apiextensionsv1.AddToScheme(scheme)
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := dialect.Definitions(dialect.All())
	if err != nil {
		t.Fatal(err)
	}
	for stored, want := range map[string]string{
		"v1alpha2": "", "v1alpha4": "", "v1": name + " has stored objects of version v1; ", "missing": name + " is missing",
	} {
		var objects []client.Object
		for _, crd := range all {
			crd = crd.DeepCopy()
			if crd.Status.StoredVersions = nil; crd.Name == name {
				crd.Status.StoredVersions = []string{stored}
			}
			crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
			}
			if crd.Name != name || stored != "missing" {
				objects = append(objects, crd)
			}
		}
		kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
		run := compatible
		if stored == "missing" {
			run = installed
		}
		_, err := run(t.Context(), &Cluster{Client: kube, Dialects: dialect.All()})
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("stored version %s: got %v, want %q", stored, err, want)
		}
	}
}

// Findings about objects of SMI are a warning.
func TestStateOfSMI(t *testing.T) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"openservicemesh.io/monitored-by": "osm"}}}
	target := &access.TrafficTarget{ObjectMeta: metav1.ObjectMeta{Name: "api", Namespace: "shop"}, Spec: access.TrafficTargetSpec{
		Destination: access.Subject{Kind: "ServiceAccount", Name: "api", Namespace: "shop"},
		Sources:     []access.Subject{{Kind: "ServiceAccount", Name: "client", Namespace: "shop"}},
		Rules:       []access.Rule{{Kind: "HTTPRouteGroup", Name: "missing"}},
	}}
	s := engine.Compute(dialect.All(), engine.Settings{}, []client.Object{ns, target})
	cluster := &Cluster{State: func(context.Context) (*engine.State, error) { return s, nil }}
	var w warning
	if _, err := served(t.Context(), cluster); !errors.As(err, &w) || !strings.Contains(w.text, "TrafficTarget shop/api") {
		t.Errorf("got %v, want a warning about the TrafficTarget", err)
	}
}
