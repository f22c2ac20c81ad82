package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/cli/lint"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/osm"
	"anymesh.dev/anymesh/model"
)

// kindCase is what shows the effect of an object of a kind.
type kindCase struct {
	// explain are the arguments of a request whose explanation differs without the object. It is empty for an object that
	// no request meets: describe says the text.
	explain, says string
	// codes are the codes of the findings about the object.
	codes []model.Code
}

const fromCurl = "--from curl/curl http://httpbin.httpbin:14001/get"

// kindCases are by kind. testdata/kinds has a file for each version, as it is published, and base.yaml.
var kindCases = map[string]kindCase{
	"TrafficTarget":          {explain: fromCurl},
	"HTTPRouteGroup":         {explain: fromCurl},
	"TCPRoute":               {explain: "--from curl/curl tcp://httpbin.httpbin:9000"},
	"TrafficSplit":           {explain: fromCurl},
	"MeshConfig":             {explain: "--from httpbin/httpbin http://curl.curl/"},
	"Egress":                 {explain: "--from curl/curl https://httpbin.org/"},
	"IngressBackend":         {explain: "--from projectcontour/envoy " + ingressURL},
	"AccessControl":          {explain: "--from projectcontour/envoy " + ingressURL},
	"UpstreamTrafficSetting": {explain: fromCurl},
	"Retry":                  {explain: fromCurl},
	"MeshRootCertificate":    {says: "the root that signs certificates"},
	"EgressGateway": {
		says: "go from the sidecar of the client, through no gateway", codes: []model.Code{model.CodeFieldNotImplemented},
	},
	"AccessCert": {
		says: "clients outside of the mesh get no certificates of it", codes: []model.Code{model.CodeFieldNotImplemented},
	},
}

const ingressURL = "http://httpbin.httpbin.svc.cluster.local:14001/get"

// TestEachKindOfOpenServiceMesh checks each version of each kind that the chart defines: its conversion there and back,
// its status, and what the commands show of it.
func TestEachKindOfOpenServiceMesh(t *testing.T) {
	definitions, err := osm.Dialect{}.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range definitions {
		for _, version := range crd.Spec.Versions {
			kind := crd.Spec.Names.Kind
			t.Run(kind+"/"+version.Name, func(t *testing.T) {
				c, known := kindCases[kind]
				text, err := os.ReadFile(filepath.Join("testdata/kinds", kind+"."+version.Name+".yaml"))
				if err != nil || !known {
					t.Fatal("the kind has no case, or the version no file", err)
				}
				object := untyped(t, text)
				if object.GetKind() != kind || object.GroupVersionKind().Version != version.Name {
					t.Fatalf("the file has %s", object.GroupVersionKind())
				}
				wantConversions(t, crd, object)
				wantStatus(t, crd, object)
				c.wantCommands(t, object)
			})
		}
	}
}

func untyped(t *testing.T, text []byte) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON(text)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &o.Object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func convert(t *testing.T, o *unstructured.Unstructured, version string) *unstructured.Unstructured {
	t.Helper()
	out := o.DeepCopy()
	if err := (osm.Dialect{}).Convert(out.Object, version); err != nil {
		t.Fatal(err)
	}
	return out
}

// wantConversions checks that an object is what it was after each conversion there and back.
func wantConversions(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, object *unstructured.Unstructured) {
	t.Helper()
	version := object.GroupVersionKind().Version
	for _, other := range crd.Spec.Versions {
		if len(crd.Spec.Versions) == 1 {
			continue // no conversion is needed
		}
		there := convert(t, object, other.Name)
		if got := there.GroupVersionKind().Version; got != other.Name {
			t.Errorf("converted to %s, it has the version %s", other.Name, got)
		}
		if got, want := canonical(t, convert(t, there, version)), canonical(t, object); got != want {
			t.Errorf("after the conversion to %s and back, it is\n%s\nand it was\n%s", other.Name, got, want)
		}
	}
}

// canonical returns an object as JSON. An empty spec is none.
func canonical(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	o = o.DeepCopy()
	if spec, is := o.Object["spec"].(map[string]any); is && len(spec) == 0 {
		delete(o.Object, "spec")
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantStatus checks that the dialect writes a status, which each version has.
func wantStatus(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, object *unstructured.Unstructured) {
	t.Helper()
	for _, v := range crd.Spec.Versions {
		if v.Subresources == nil || v.Subresources.Status == nil {
			t.Errorf("version %s has no status", v.Name)
		}
		if v.Storage && len(crd.Spec.Versions) > 1 {
			object = convert(t, object, v.Name)
		}
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(osm.Dialect{}.StatusKinds(), func(o client.Object) bool {
		return strings.HasSuffix(fmt.Sprintf("%T", o), "."+object.GetKind())
	})
	if i < 0 {
		t.Fatal("the dialect writes no status")
	}
	typed := osm.Dialect{}.StatusKinds()[i]
	if err := json.Unmarshal(text, typed); err != nil {
		t.Fatal(err)
	}
	after, err := json.Marshal(osm.Dialect{}.Status(typed, dialect.StatusInput{Mesh: "osm"}))
	if err != nil {
		t.Fatal(err)
	}
	var with struct{ Status map[string]any }
	if err := json.Unmarshal(after, &with); err != nil || len(with.Status) == 0 {
		t.Errorf("status %v, %v", with.Status, err)
	}
}

// wantCommands checks that the commands show the object: their output differs without it, or they say why it has no
// effect.
func (c kindCase) wantCommands(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	with, without := t.TempDir(), t.TempDir()
	base, err := os.ReadFile("testdata/kinds/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var others []string
	for _, text := range strings.Split(string(base), "\n---\n") {
		o := untyped(t, []byte(text))
		if o.GetKind() != object.GetKind() || o.GetName() != object.GetName() {
			others = append(others, text)
		}
	}
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	for folder, documents := range map[string][]string{with: append(slices.Clone(others), string(text)), without: others} {
		err := os.WriteFile(filepath.Join(folder, "mesh.yaml"), []byte(strings.Join(documents, "\n---\n")), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	var report lint.Report
	decode(t, "lint "+with, &report)
	var codes []model.Code
	for _, f := range report.Findings {
		if f.Severity != model.Info {
			codes = append(codes, f.Code)
		}
	}
	if !slices.Equal(codes, c.codes) {
		t.Errorf("lint: findings %v, want %v: %+v", codes, c.codes, report.Findings)
	}
	group := object.GroupVersionKind().Group
	code, out, problem := run(t, fmt.Sprintf("describe -f %s -n %s %s.%s %s", with, object.GetNamespace(),
		strings.ToLower(object.GetKind()), group, object.GetName()))
	description := string(out)
	if code != 0 || !strings.Contains(description, c.says) || c.says == "" && strings.Contains(description, "none: ") {
		t.Errorf("describe: exit code %d %s\n%s", code, problem, description)
	}
	if c.explain == "" {
		return
	}
	for _, command := range []string{"explain -f %s " + c.explain, "graph -f %s"} {
		_, yes, problem := run(t, fmt.Sprintf(command, with))
		_, no, _ := run(t, fmt.Sprintf(command, without))
		if len(yes) == 0 || strings.ReplaceAll(string(yes), with, without) == string(no) {
			t.Errorf("%s: the object makes no difference: %s\n%s", command, problem, yes)
		}
	}
}
