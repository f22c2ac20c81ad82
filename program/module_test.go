package program_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// thirdParty copies the example driver out of the module tree, and returns a function that runs the go command there.
func thirdParty(t *testing.T) (folder string, run func(arguments ...string) string) {
	t.Helper()
	folder = t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("../examples/driver")); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	run = func(arguments ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), "go", arguments...)
		// The flags of the Makefile: what it built is not compiled again.
		c.Dir, c.Env = folder, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off")
		var errorOutput strings.Builder
		c.Stderr = &errorOutput
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", c, err, errorOutput.String())
		}
		return string(out)
	}
	run("mod", "edit", "-replace", "anymesh.dev/anymesh="+root)
	return folder, run
}

// A program of another module has a driver of its own and is the whole of Anymesh, with public packages only.
func TestProgramOfAnotherModule(t *testing.T) {
	folder, run := thirdParty(t)
	type pkg struct {
		ImportPath string
		Module     struct{ Path string }
		Imports    []string
	}
	packages := 0
	for decoder := json.NewDecoder(strings.NewReader(run("list", "-json=ImportPath,Module,Imports", "./..."))); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages++
		if strings.HasPrefix(p.Module.Path, "anymesh.dev/") {
			t.Errorf("%s is in module %s, which may import internal packages", p.ImportPath, p.Module.Path)
		}
		for _, imported := range p.Imports {
			if strings.Contains("/"+imported+"/", "/internal/") {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}
	if packages < 2 {
		t.Errorf("found %d packages", packages)
	}
	built := filepath.Join(folder, "anymesh")
	run("build", "-ldflags=-s -w", "-o", built, ".")
	out, err := exec.CommandContext(t.Context(), built, "proxy", "config", "front", "--driver", "tiny", "-f",
		"../examples/colors").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "tiny.View") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The conformance kit tests the driver of another module, with the sidecar of this module.
func TestConformanceOfAnotherModule(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the kit creates namespaces, which requires root")
	}
	_, run := thirdParty(t)
	if out := run("test", "-count=1", "-v", "."); !strings.Contains(out, "--- PASS: TestConformance/without-retries/front") {
		t.Errorf("the driver passes no case:\n%s", out)
	}
}
