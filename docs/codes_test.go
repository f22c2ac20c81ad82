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

// Every code has a page with a cause, an example that has it, and a mended one that has it no more; and there are no
// other pages.
func TestEveryCodeHasAPage(t *testing.T) {
	for _, c := range model.Codes {
		e, err := exampleOf(c.Code)
		if err != nil {
			t.Errorf("%s: %v", c.Code, err)
			continue
		}
		if len(strings.Fields(e.cause)) < 8 {
			t.Errorf("%s: the cause is not told", c.Code)
		}
		onlyRunning := c.Code == model.CodeRejected || c.Code == model.CodeNotSupported
		if (e.before == "") != onlyRunning || (e.after == "") != onlyRunning {
			t.Errorf("%s: example.yaml and mended.yaml are wanted for what manifests can show", c.Code)
		}
		if left, err := said(c.Code, e.after); err != nil || left != "" {
			t.Errorf("%s: the mended example still says: %s %v", c.Code, left, err)
		}
		if !strings.Contains(e.said, string(c.Code)) {
			t.Errorf("%s: %s", c.Code, e.said)
		}
		if page, ok := findings.Page(string(c.Code)); !ok || !strings.Contains(page, c.Remedy) {
			t.Errorf("%s has no page in the program; run: make generate", c.Code)
		}
	}
	known := func(code string) bool {
		return slices.ContainsFunc(model.Codes, func(c model.CodeInfo) bool { return string(c.Code) == code })
	}
	for _, code := range findings.Codes() {
		if !known(code) {
			t.Errorf("findings/%s.md is about a code that there is not", code)
		}
	}
	files, err := fs.Glob(examples, "findings/examples/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if code := strings.TrimSuffix(path.Base(f), ".txtar"); !known(code) {
			t.Errorf("%s is about a code that there is not", f)
		}
	}
}
