package presubmit

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestPackagesOfEachPlatform checks that the command compiles on all systems: the control plane and its transport make
// system calls of Linux, so only files for Linux import them. "make cross" compiles for all platforms, in minutes.
func TestPackagesOfEachPlatform(t *testing.T) {
	for _, system := range []string{"darwin", "linux"} {
		command := exec.Command("go", "list", "-deps", "./cmd/anymesh")
		command.Dir, command.Env = root, append(command.Environ(), "GOOS="+system)
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%v: %v", command, err)
		}
		packages := strings.Fields(string(out))
		for _, name := range []string{"internal/controlplane", "internal/delivery/socket"} {
			if got, want := slices.Contains(packages, module+name), system == "linux"; got != want {
				t.Errorf("on %s, the command contains %s: %v, want %v", system, name, got, want)
			}
		}
	}
}
