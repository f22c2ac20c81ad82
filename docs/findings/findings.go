// Package findings contains the page of each finding code, so that the program can print it offline.
//
// In: a code. Out: its Markdown page with cause, example and remedy. Package docs generates the pages from the table
// of codes and from linted examples.
package findings

import (
	"embed"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/build"
)

//go:embed *.md
var pages embed.FS

// Page returns the page of a code without the notice that it is generated, and false for an unknown code.
func Page(code string) (string, bool) {
	text, err := pages.ReadFile(code + ".md")
	_, page, _ := strings.Cut(string(text), "-->\n\n")
	return page, err == nil
}

// URL returns the address of the page of a code.
func URL(code string) string { return build.DocsURL + "findings/" + code }

// Codes returns all codes that have a page, in alphabetical order.
func Codes() []string {
	entries, _ := pages.ReadDir(".") // embedded folders are always readable
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".md"))
	}
	slices.Sort(out)
	return out
}
