package presubmit

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// mentionedTest matches the name of a test in Markdown, optionally with a subtest.
	mentionedTest = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)(?:/[^`]*)?`")
	declaredTest  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
	// mentionedFile matches the path of a file or folder of the repository in Markdown.
	// placeholder matches a path with a placeholder, such as NAME.
	placeholder   = regexp.MustCompile(`/[A-Z]+(/|$)`)
	mentionedFile = regexp.MustCompile("`((?:api|bench|charts|cmd|docs|examples|hack|internal|model|sandbox|sidecar|test)/[\\w./-]+)`")
)

// emptyRooms are the packages that CONTRIBUTING.md reserves for later parts.
var emptyRooms = []string{
	"internal/aggregate", "internal/fleet", "internal/web",
}

// Documents name tests and files that exist.
func TestMarkdownReferences(t *testing.T) {
	declared := map[string]bool{}
	for _, name := range tracked(t) {
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range declaredTest.FindAllSubmatch(read(t, name), -1) {
				declared[string(m[1])] = true
			}
		}
	}
	for _, name := range tracked(t) {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		text := read(t, name)
		for _, m := range mentionedTest.FindAllSubmatch(text, -1) {
			if !declared[string(m[1])] {
				t.Errorf("%s mentions %s, which does not exist", name, m[1])
			}
		}
		for _, m := range mentionedFile.FindAllSubmatch(text, -1) {
			path := strings.TrimRight(string(m[1]), "/.")
			if placeholder.MatchString(path) || slices.Contains(emptyRooms, path) {
				continue
			}
			if !exists(path) && !exists(filepath.Join(filepath.Dir(name), path)) {
				t.Errorf("%s mentions %s, which does not exist", name, m[1])
			}
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func exists(path string) bool {
	_, err := os.Stat(filepath.Join(root, path))
	return err == nil
}
