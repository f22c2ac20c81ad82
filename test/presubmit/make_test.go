package presubmit

import (
	"os/exec"
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

