package docs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

// Each rule refuses its own fault, by the field's path, and nothing else: the neighbor passes.
func TestWhatNoMeshCouldCarryIsRefused(t *testing.T) {
	for _, r := range carriedByNobody {
		if r.field == "" || r.refused == "" || r.taken == "" {
			t.Errorf("%s %s: a rule has a field, a spec that is refused, and one that is taken", r.kind, r.field)
		}
		t.Run(r.kind+" "+r.field, func(t *testing.T) {
			refused, err := r.object(r.refused)
			if err != nil {
				t.Fatal(err)
			}
			var refusal *dialect.Refusal
			if err := appmesh.ValidateCreate(refused); !errors.As(err, &refusal) {
				t.Fatalf("%s\nis answered with %v", r.refused, err)
			}
			if f := refusal.Findings; len(f) != 1 || f[0].Path != r.field || f[0].Code != model.CodeInvalidField {
				t.Errorf("%s\ngot  %v\nwant %s", r.refused, refusal, r.field)
			}
			taken, err := r.object(r.taken)
			if err != nil {
				t.Fatal(err)
			}
			if err := appmesh.ValidateCreate(taken); err != nil {
				t.Errorf("%s\nis answered with %v", r.taken, err)
			}
			if r.field == "spec.awsName" {
				return // it cannot change
			}
			if err := appmesh.ValidateUpdate(refused, taken); err != nil {
				t.Errorf("the fault cannot be mended: %v", err)
			}
			if err := appmesh.ValidateUpdate(taken, refused); !errors.As(err, &refusal) {
				t.Errorf("the fault can be added by an update: %v", err)
			}
		})
	}
}

// TestWhatIsServedIsAdmitted: no rule refuses an object that a case shows at work, or that the example has. A case may
// show what becomes of an object that is there although it would be refused: its findings say so.
func TestWhatIsServedIsAdmitted(t *testing.T) {
	files, told := map[string]string{}, map[string]string{}
	cases, err := filepath.Glob("../test/cases/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, name := range cases {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			switch f.Name {
			case "objects.yaml":
				files[name] = string(f.Data)
			case "findings.txt":
				told[name] = string(f.Data)
			}
		}
	}
	manifests, err := filepath.Glob("../examples/colors/*.yaml")
	if err != nil || len(manifests) == 0 {
		t.Fatal("no example", err)
	}
	for _, name := range manifests {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	var kinds []client.Object
	for _, d := range dialect.All() {
		kinds = append(kinds, d.Kinds()...)
	}
	for name, text := range files {
		documents, _, err := manifest.Read([]string{"-"}, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		set, err := manifest.Decode(documents, kinds, "default")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range set.Objects {
			var refusal *dialect.Refusal
			err := appmesh.ValidateCreate(o)
			if errors.As(err, &refusal) && !slices.ContainsFunc(refusal.Findings, func(f model.Finding) bool {
				return !strings.Contains(told[name], f.String()+"\n")
			}) {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
