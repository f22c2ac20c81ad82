package builtin_test

import (
	"context"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/trait/certificate"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/providertest"
)

// crdSchema validates the objects of a kind as an API server does.
type crdSchema struct {
	structural *structural.Structural
	values     validation.SchemaValidator
	cel        *cel.Validator
}

// schemas are those of the kinds of other projects, by kind.
var schemas = sync.OnceValues(func() (map[string]crdSchema, error) {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		return nil, err
	}
	standard := filepath.Join(strings.TrimSpace(string(module)), "config", "crd", "standard")
	out := map[string]crdSchema{}
	for kind, file := range map[string]string{
		"HTTPRoute":   filepath.Join(standard, "gateway.networking.k8s.io_httproutes.yaml"),
		"ListenerSet": filepath.Join(standard, "gateway.networking.k8s.io_listenersets.yaml"),
		"HTTPProxy":   filepath.Join(casesDir, "crds", "httpproxies.yaml"),
		"Certificate": filepath.Join(casesDir, "crds", "certificates.yaml"),
	} {
		if out[kind], err = readSchema(file); err != nil {
			return nil, err
		}
	}
	return out, nil
})

func readSchema(file string) (crdSchema, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return crdSchema{}, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return crdSchema{}, err
	}
	var internal apiextensions.CustomResourceValidation
	for _, version := range crd.Spec.Versions {
		if version.Name != "v1" {
			continue
		}
		err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema,
			&internal, nil)
		if err != nil {
			return crdSchema{}, err
		}
	}
	s, err := structural.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return crdSchema{}, err
	}
	values, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		return crdSchema{}, err
	}
	return crdSchema{s, values, cel.NewValidator(s, true, celconfig.PerCallLimit)}, nil
}

// faults are why an API server would refuse an object, or drop fields of it.
func faults(t *testing.T, object *unstructured.Unstructured) []string {
	t.Helper()
	if object.GroupVersionKind() == provider.IngressKind {
		return ingressFaults(object)
	}
	all, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	s, ok := all[object.GetKind()]
	if !ok {
		t.Fatalf("no schema of %s", object.GetKind())
	}
	var out []string
	content := object.DeepCopy().Object
	for _, field := range pruning.PruneWithOptions(content, s.structural, true, structural.UnknownFieldPathOptions{
		TrackUnknownFieldPaths: true,
	}) {
		out = append(out, "unknown field "+field)
	}
	defaulting.Default(content, s.structural)
	for _, e := range validation.ValidateCustomResource(nil, content, s.values) {
		out = append(out, e.Error())
	}
	errs, _ := s.cel.Validate(context.Background(), nil, s.structural, content, nil, celconfig.RuntimeCELCostBudget)
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

// ingressFaults finds fields that an Ingress does not have. The API server's own rules are not in a library; a test on
// a cluster creates the objects.
func ingressFaults(object *unstructured.Unstructured) []string {
	var typed networkingv1.Ingress
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true)
	if err != nil {
		return []string{err.Error()}
	}
	return nil
}

func TestObjectsAreValid(t *testing.T) {
	for _, g := range goldens(t) {
		checkAll(t, g)
	}
}

func TestCertificateIsValid(t *testing.T) {
	cluster := &providertest.Cluster{Kinds: []schema.GroupVersionKind{certificate.CertificateKind}}
	plan := certificate.Make(certificate.Request{
		Namespace: "shop", Route: "web", Host: "*.example.com", IssuerName: "team", IssuerType: "ClusterIssuer",
	}, cluster, x509.NewCertPool(), time.Now())
	if len(plan.Objects) != 1 {
		t.Fatalf("%d objects", len(plan.Objects))
	}
	if found := faults(t, plan.Objects[0]); len(found) > 0 {
		t.Error(strings.Join(found, "; "))
	}
}

// The tests above can fail: the schemas refuse what they do not know.
func TestSchemasRefuseInvalidObjects(t *testing.T) {
	for kind, broken := range map[string]string{
		"HTTPRoute": `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, spec: {rules: [{matches: [{path: {value: a//b}}]}]}}`,
		"HTTPProxy": `{apiVersion: projectcontour.io/v1, kind: HTTPProxy, spec: {virtualhost: {}, routes: [{prefix: a}]}}`,
		"Ingress":   `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {class: a}}`,
	} {
		var object unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(broken), &object.Object); err != nil {
			t.Fatal(err)
		}
		if got := faults(t, &object); len(got) == 0 {
			t.Errorf("%s: no faults", kind)
		}
	}
}
