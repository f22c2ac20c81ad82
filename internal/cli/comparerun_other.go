//go:build !linux

package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/cli/compare"
)

// realSidecars are the flags of compare --run, which runs only on Linux.
type realSidecars struct {
	run           bool
	pod, workload string
}

func (r realSidecars) check([]string) error {
	if r.run || r.pod != "" {
		return fmt.Errorf("--run creates network namespaces of Linux, and this is %s", runtime.GOOS)
	}
	return nil
}

func (realSidecars) input(*cobra.Command, []string) (string, error) { return "", nil }

func (realSidecars) inside(*cobra.Command, *source) error { return nil } // after check

func (realSidecars) observe(*cobra.Command, *source, string, ...*compare.Side) ([]compare.Observation, error) {
	return nil, nil // after check
}
