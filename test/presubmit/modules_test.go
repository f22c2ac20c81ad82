package presubmit

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestModulesShareVersions checks that the sandbox and the example compile the versions of libraries that Anymesh
// compiles: packages of one version are compiled once, and they are most of the time of the first build.
func TestModulesShareVersions(t *testing.T) {
	own := compiledVersions(t, ".", "./cmd/...")
	for folder, pattern := range map[string]string{"sandbox": "./cmd/...", "examples/driver": "./..."} {
		for path, version := range compiledVersions(t, folder, pattern) {
			if want, both := own[path]; both && version != want {
				t.Errorf("%s compiles %s %s, Anymesh %s; run go -C %s get %s@%s", folder, path, version, want, folder,
					path, want)
			}
		}
	}
}

// compiledVersions returns the versions of modules that programs consist of.
func compiledVersions(t *testing.T, folder, pattern string) map[string]string {
	t.Helper()
	command := exec.Command("go", "list", "-deps", "-f",
		"{{with .Module}}{{.Path}} {{if .Replace}}{{.Replace.Version}}{{else}}{{.Version}}{{end}}{{end}}", pattern)
	command.Dir = filepath.Join(root, folder)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v in %s: %v", command, folder, err)
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok && version != "" {
			versions[path] = version
		}
	}
	if len(versions) == 0 {
		t.Fatalf("%s consists of no modules", folder)
	}
	return versions
}
