package route

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/discovery"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/snapshot"
)

var update = flag.Bool("update", false, "rewrite the generated parts of testdata")

// printing is a provider that writes what it is asked for into an object. The host is served at once.
type printing struct{}

var printed = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Printed"}

func (printing) Names() []string                                      { return []string{"printing", "alias"} }
func (printing) Writes() []schema.GroupVersionKind                    { return []schema.GroupVersionKind{printed} }
func (printing) Reads() []schema.GroupVersionKind                     { return nil }
func (printing) Present(provider.Reader) bool                         { return false }
func (printing) State(provider.Route, provider.Reader) provider.State { return provider.State{} }

func (printing) Render(r provider.Route, _ provider.Reader) provider.Result {
	text, err := yaml.Marshal(r)
	if err != nil {
		panic(err)
	}
	o := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal(text, &o.Object); err != nil {
		panic(err)
	}
	delete(o.Object, "Namespace")
	o = &unstructured.Unstructured{Object: map[string]any{"asked": o.Object}}
	o.SetGroupVersionKind(printed)
	o.SetNamespace(r.Namespace)
	o.SetName(r.Name)
	out := provider.Result{Objects: []*unstructured.Unstructured{o}}
	for _, rule := range r.Rules {
		if rule.SendTimeout > 0 {
			out.Unsupported = append(out.Unsupported, provider.Unsupported{Field: rule.Field + ".backend.sendTimeout", Text: "it is not used"})
		}
	}
	return out
}

// documents decodes YAML documents. Objects without a namespace are in that of the Route; their UIDs are their names.
func documents(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, one := range bytes.Split(append([]byte("\n"), text...), []byte("\n---\n")) {
		if len(bytes.TrimSpace(one)) == 0 {
			continue
		}
		json, err := yaml.YAMLToJSONStrict(one)
		if err != nil {
			t.Fatalf("%v in\n%s", err, one)
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(json); err != nil {
			t.Fatalf("%v in\n%s", err, one)
		}
		if o.GetNamespace() == "" {
			o.SetNamespace("shop")
		}
		o.SetUID(types.UID(o.GetKind() + "/" + o.GetName()))
		for _, short := range o.GetAnnotations() { // "owner: Kind/name"
			ref := map[string]any{"apiVersion": "v1", "kind": strings.Split(short, "/")[0], "name": "x", "uid": short, "controller": true}
			o.Object["metadata"].(map[string]any)["ownerReferences"] = []any{ref}
		}
		out = append(out, o)
	}
	return out
}

// TestCases plans the Route of each case, and compares the objects and conditions.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var objects snapshot.Cluster
			var owner *unstructured.Unstructured
			var want *txtar.File
			for i, f := range archive.Files {
				switch f.Name {
				case "objects.yaml":
					objects = documents(t, f.Data)
				case "route.yaml":
					owner = documents(t, f.Data)[0]
				case "want.yaml":
					want = &archive.Files[i]
				}
			}
			got := planText(t, owner, objects)
			if again := planText(t, owner, objects); again != got {
				t.Errorf("two plans differ:\n%s\n%s", got, again)
			}
			if *update {
				if want == nil {
					archive.Files = append(archive.Files, txtar.File{Name: "want.yaml"})
					want = &archive.Files[len(archive.Files)-1]
				}
				want.Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want == nil || string(want.Data) != got {
				t.Errorf("the plan differs; run the test with -update and read the difference. Got\n%s", got)
			}
		})
	}
}

// planText is the plan of a Route as text.
func planText(t *testing.T, owner *unstructured.Unstructured, objects snapshot.Cluster) string {
	t.Helper()
	p := &Planner{
		Providers: []provider.Provider{printing{}}, Discovery: discovery.Options{DefinitionNamespaces: []string{"vela-system"}},
	}
	owner.SetGeneration(1)
	plan := p.Plan(owner, objects)
	outcome := controller.Outcome{UIDs: map[controller.ObjectKey]types.UID{}}
	for _, o := range plan.Objects {
		outcome.UIDs[controller.KeyOf(o)] = types.UID("uid of " + o.GetName())
	}
	status := plan.Status(outcome)
	out := map[string]any{"status": status.Fields}
	var conditions []string
	for _, c := range status.Conditions {
		conditions = append(conditions, strings.TrimSpace(c.Type+"="+string(c.Status)+" "+c.Reason+": "+c.Message))
	}
	out["conditions"] = conditions
	var list []any
	for _, o := range plan.Objects {
		list = append(list, o.Object)
	}
	if list != nil {
		out["objects"] = list
	}
	text, err := yaml.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
