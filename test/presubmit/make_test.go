package presubmit

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// planned returns the commands that make would run for targets.
func planned(t *testing.T, targets ...string) []string {
	t.Helper()
	read(t, "Makefile") // go test caches the result until this file changes
	command := exec.CommandContext(t.Context(), "make", append([]string{"-n", "-B", "-C", root}, targets...)...)
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(out), "\n")
}

// What is compiled for the demos and for the tests shows its progress.
func TestBuildsShowTheirProgress(t *testing.T) {
	for _, line := range planned(t, "demo", "demo-clusters", "test") {
		if (strings.Contains(line, "go build") || strings.Contains(line, "go run")) && !strings.Contains(line, "hack/progress.sh") {
			t.Errorf("without progress: %s", line)
		}
	}
}

// While Kubernetes is compiled, one can read what the mesh of the demo is, and why a request is routed as it is.
func TestDemoShowsItsMeshFirst(t *testing.T) {
	lines := planned(t, "demo")
	last := -1
	for _, want := range []string{"go build -C . -v", "\tanymesh graph -f", "\tanymesh explain -f", "building the sandbox"} {
		at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains("\t"+line, want) })
		if at <= last {
			t.Errorf("%q is command %d, want it after %d:\n%s", want, at, last, strings.Join(lines, "\n"))
		}
		last = at
	}
}
