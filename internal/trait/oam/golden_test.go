package oam

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/snapshot"
)

var update = flag.Bool("update", false, "rewrite the generated parts of testdata")

// TestCases plans the first object of each case, and compares the objects and the status.
func TestCases(t *testing.T) {
	planners := map[string]controller.Planner{
		"ApplicationConfiguration": Applications{}, "ContainerizedWorkload": ContainerizedWorkloads{}, "PodSpecWorkload": PodSpecWorkloads{},
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			objects := documents(t, archive.Files[0].Data)
			owner := objects[0]
			got := text(t, planners[owner.GetKind()].Plan(owner, objects))
			if again := text(t, planners[owner.GetKind()].Plan(owner, objects)); got != again {
				t.Errorf("two plans differ:\n%s\n%s", got, again)
			}
			if *update {
				archive.Files = append(archive.Files[:1], txtar.File{Name: "want.yaml", Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(archive.Files) != 2 || string(archive.Files[1].Data) != got {
				t.Errorf("the plan differs; run the test with -update and read the difference. Got\n%s", got)
			}
		})
	}
}

func documents(t *testing.T, data []byte) snapshot.Cluster {
	t.Helper()
	var out snapshot.Cluster
	for _, one := range bytes.Split(data, []byte("---\n")) {
		json, err := yaml.YAMLToJSONStrict(one)
		if err != nil {
			t.Fatalf("%v in\n%s", err, one)
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(json); err != nil {
			t.Fatalf("%v in\n%s", err, one)
		}
		o.SetNamespace("shop")
		o.SetUID(types.UID("uid-of-" + o.GetName()))
		out = append(out, o)
	}
	return out
}

func text(t *testing.T, plan controller.Plan) string {
	t.Helper()
	outcome := controller.Outcome{UIDs: map[controller.ObjectKey]types.UID{}}
	var objects []any
	for _, o := range plan.Objects {
		outcome.UIDs[controller.KeyOf(o)] = types.UID("uid of " + o.GetName())
		objects = append(objects, o.Object)
	}
	out, err := yaml.Marshal(map[string]any{"objects": objects, "status": plan.Status(outcome), "prunes": len(plan.Prunes) > 0})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
