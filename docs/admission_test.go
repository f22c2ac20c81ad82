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

// TestInvalidSpecsAreRefused checks that each invalid spec is refused with exactly one error at the path of the
// field, and that the valid spec is accepted.
func TestInvalidSpecsAreRefused(t *testing.T) {
	for _, r := range invalidSpecs {
		if r.field == "" || r.refused == "" || r.accepted == "" {
			t.Errorf("%s %s: a rule needs a field, a refused spec and an accepted spec", r.kind, r.field)
		}
		t.Run(r.kind+" "+r.field, func(t *testing.T) {
			refused, err := r.object(r.refused)
			if err != nil {
				t.Fatal(err)
			}
			var refusal *dialect.Refusal
			if err := appmesh.ValidateCreate(refused); !errors.As(err, &refusal) {
				t.Fatalf("%s\nwant a refusal, got %v", r.refused, err)
			}
			if f := refusal.Findings; len(f) != 1 || f[0].Path != r.field || f[0].Code != model.CodeInvalidField {
				t.Errorf("%s\ngot  %v\nwant %s", r.refused, refusal, r.field)
			}
			accepted, err := r.object(r.accepted)
			if err != nil {
				t.Fatal(err)
			}
			if err := appmesh.ValidateCreate(accepted); err != nil {
				t.Errorf("%s\nwant no error, got %v", r.accepted, err)
			}
			if r.field == "spec.awsName" {
				return // immutable
			}
			if err := appmesh.ValidateUpdate(refused, accepted); err != nil {
				t.Errorf("an update cannot fix the error: %v", err)
			}
			if err := appmesh.ValidateUpdate(accepted, refused); !errors.As(err, &refusal) {
				t.Errorf("an update can add the error: %v", err)
			}
		})
	}
}

// hasError reports whether a list of findings has an error about an object.
func hasError(findings string, o client.Object) bool {
	for line := range strings.Lines(findings) {
		if strings.HasPrefix(line, "Error ") && strings.Contains(line, " "+dialect.RefOf(o).String()+" ") {
			return true
		}
	}
	return false
}

// TestServedObjectsAreAdmitted checks that admission accepts all objects of the cases and of the example. A case may
// contain an object that admission refuses, if its findings contain the error, or another error about the object in
// place of a message of the released controller.
func TestServedObjectsAreAdmitted(t *testing.T) {
	files, findings := map[string]string{}, map[string]string{}
	cases, err := filepath.Glob("../test/cases/*/*.txtar")
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
				findings[name] = string(f.Data)
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
		t.Run(name, func(t *testing.T) {
			files, err := manifest.Read([]string{"-"}, strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			set, err := manifest.Decode(files.Documents, kinds, "default")
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range set.Objects {
				var refusal *dialect.Refusal
				err := appmesh.ValidateCreate(o)
				if errors.As(err, &refusal) && !slices.ContainsFunc(refusal.Findings, func(f model.Finding) bool {
					return !strings.Contains(findings[name], f.String()+"\n")
				}) {
					continue
				}
				if err != nil && (refusal != nil || !hasError(findings[name], o)) {
					t.Error(err)
				}
			}
		})
	}
}
