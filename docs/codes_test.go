package docs

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/docs/findings"
	"anymesh.dev/anymesh/model"
)

// TestEveryCodeHasAPage checks that every code has a page with a cause, an example with the finding, and a fixed
// example without it, and that there are no other pages.
func TestEveryCodeHasAPage(t *testing.T) {
	for _, c := range model.Codes {
		t.Run(string(c.Code), func(t *testing.T) {
			e, err := exampleOf(c.Code)
			if err != nil {
				t.Fatal(err)
			}
			if len(strings.Fields(e.cause)) < 8 {
				t.Error("the cause is missing or too short")
			}
			onlyRunning := slices.Contains([]model.Code{
				model.CodeRejected, model.CodeNotSupported, model.CodeNoAddress, model.CodeInternal, model.CodePendingMembers,
				model.CodeFieldNotImplemented, model.CodeBypass,
			}, c.Code)
			if (e.invalid == "") != onlyRunning || (e.fixed == "") != onlyRunning {
				t.Error("want example.yaml and fixed.yaml exactly if manifests can cause the finding")
			}
			if left, err := lintOutput(c.Code, e.fixed); err != nil || left != "" {
				t.Errorf("the fixed example has findings: %s %v", left, err)
			}
			if !strings.Contains(e.output, string(c.Code)) {
				t.Errorf("the output has no finding with this code: %s", e.output)
			}
			if page, ok := findings.Page(string(c.Code)); !ok || !strings.Contains(page, c.Remedy) {
				t.Error("no up-to-date page in the program; run: make generate")
			}
		})
	}
	known := func(code string) bool {
		return slices.ContainsFunc(model.Codes, func(c model.CodeInfo) bool { return string(c.Code) == code })
	}
	for _, code := range findings.Codes() {
		if !known(code) {
			t.Errorf("findings/%s.md: unknown code", code)
		}
	}
	files, err := fs.Glob(examples, "findings/examples/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if code := strings.TrimSuffix(path.Base(f), ".txtar"); !known(code) {
			t.Errorf("%s: unknown code", f)
		}
	}
}
