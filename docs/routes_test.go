package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// reasonInCode matches the reason of a condition of Routes and applications.
var reasonInCode = regexp.MustCompile(`(?:Reason(?: =|:)|invalid\(|fail\(|\.Reason =|ConditionFalse,) ?"([A-Z]\w+)"`)

func TestPageOfRoutesListsReasons(t *testing.T) {
	page, err := os.ReadFile("routes.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, folder := range []string{"discovery", "route", "controller", "oam"} {
		files, err := filepath.Glob("../internal/trait/" + folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range reasonInCode.FindAllSubmatch(text, -1) {
				found[string(m[1])] = true
				if !strings.Contains(string(page), "`"+string(m[1])+"`") {
					t.Errorf("routes.md does not have the reason %s of %s", m[1], name)
				}
			}
		}
	}
	for row := range strings.Lines(string(page)) {
		if !strings.HasPrefix(row, "| `") {
			continue
		}
		cell, _, _ := strings.Cut(row[2:], "|")
		for _, m := range regexp.MustCompile("`([A-Z]\\w+)`").FindAllStringSubmatch(cell, -1) {
			if !found[m[1]] {
				t.Errorf("routes.md has the reason %s, which no code has", m[1])
			}
		}
	}
	if len(found) < 25 {
		t.Errorf("found only %d reasons: %v", len(found), found)
	}
}
