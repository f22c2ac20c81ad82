package presubmit

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the folder of the module, seen from this one.
const root = "../.."

// longest is how many lines a file that people write may have.
const longest = 300

var (
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	// vague are names that say nothing about what is inside.
	vague = regexp.MustCompile(`(^|/)(utils?|common|helpers?|misc)(/|\.go$|_test\.go$)`)
	// hosts are registries and mirrors: where packages come from is a matter of each machine's settings.
	hosts = regexp.MustCompile(`(?i)(proxy|sum)\.golang` + `\.org|pypi` + `\.org|registry\.npm` + `js\.|deb\.deb` +
		`ian\.org|files\.python` + `hosted|goproxy\.` + `(io|cn)`)
)

func TestFilesAreShort(t *testing.T) {
	for name, text := range sources(t) {
		if lines := bytes.Count(text, []byte("\n")); lines > longest && !generated.Match(text) {
			t.Errorf("%s has %d lines; split it by subject: at most %d", name, lines, longest)
		}
	}
}

func TestNamesSaySomething(t *testing.T) {
	for _, name := range tracked(t) {
		if vague.MatchString(name) {
			t.Errorf("%s: the name says nothing about what is inside", name)
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range list(t, "./...") {
		if len(p.GoFiles) == 0 {
			continue
		}
		if len(strings.Fields(p.Doc)) < 4 {
			t.Errorf("package %s has no package comment", p.ImportPath)
		}
	}
}

func TestNoRegistryIsNamed(t *testing.T) {
	for _, name := range tracked(t) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || len(text) > 1<<20 || strings.HasSuffix(name, ".sum") {
			continue
		}
		if found := hosts.Find(text); found != nil {
			t.Errorf("%s names %s; registries are found by the machine's own settings", name, found)
		}
	}
}

// sources gives the text of our Go files.
func sources(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, name := range tracked(t) {
		if strings.HasSuffix(name, ".go") {
			if text, err := os.ReadFile(filepath.Join(root, name)); err == nil {
				out[name] = text
			}
		}
	}
	if len(out) < 50 {
		t.Fatalf("only %d Go files were found", len(out))
	}
	return out
}

// tracked lists the files of the project: those that git knows, and new ones that it does not ignore.
func tracked(t *testing.T) []string {
	t.Helper()
	command := exec.Command("git", "ls-files", "-co", "--exclude-standard")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	return strings.Fields(string(out))
}
