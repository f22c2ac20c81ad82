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

// root is the module directory relative to this package.
const root = "../.."

// maxLines is the maximum number of lines of a hand-written file.
const maxLines = 300

var (
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	// vague matches file names that do not describe the content.
	vague = regexp.MustCompile(`(^|/)(utils?|common|helpers?|misc)(/|\.go$|_test\.go$)`)
	// hosts matches the hosts of registries and mirrors. These belong into the settings of each machine.
	hosts = regexp.MustCompile(`(?i)(proxy|sum)\.golang` + `\.org|pypi` + `\.org|registry\.npm` + `js\.|deb\.deb` +
		`ian\.org|files\.python` + `hosted|goproxy\.` + `(io|cn)`)
)

func TestFilesAreShort(t *testing.T) {
	for name, text := range sources(t) {
		if lines := bytes.Count(text, []byte("\n")); lines > maxLines && !generated.Match(text) {
			t.Errorf("%s has %d lines, the limit is %d; split it by subject", name, lines, maxLines)
		}
	}
}

func TestFileNamesAreDescriptive(t *testing.T) {
	for _, name := range tracked(t) {
		if vague.MatchString(name) {
			t.Errorf("%s: the file name does not describe the content", name)
		}
	}
}

func TestEveryPackageHasComment(t *testing.T) {
	for _, p := range list(t, "./...") {
		if len(p.GoFiles) == 0 {
			continue
		}
		if len(strings.Fields(p.Doc)) < 4 {
			t.Errorf("package %s has no package comment", p.ImportPath)
		}
	}
}

func TestNoRegistryHosts(t *testing.T) {
	for _, name := range tracked(t) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || len(text) > 1<<20 || strings.HasSuffix(name, ".sum") {
			continue
		}
		if found := hosts.Find(text); found != nil {
			t.Errorf("%s contains the registry host %s; use the settings of the machine", name, found)
		}
	}
}

// sources returns the text of the Go files by name.
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
		t.Fatalf("found only %d Go files", len(out))
	}
	return out
}

// tracked lists the files of the project: files in git, and new files that git does not ignore.
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
