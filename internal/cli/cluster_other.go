//go:build !linux

package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// clusterCommands are the verbs that containers run, and containers run Linux.
func clusterCommands() []*cobra.Command {
	return []*cobra.Command{
		onlyOnLinux("controller", "Run the control plane"),
		onlyOnLinux("agent", "Run a sidecar proxy with certificates and probes"),
		onlyOnLinux("capture", "Send the pod's traffic through its proxy"),
	}
}

func sandboxCommand() *cobra.Command {
	return onlyOnLinux("sandbox", "Run real Kubernetes clusters on this machine, without Docker")
}

func onlyOnLinux(name, short string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              short + " (only on Linux)",
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return exitError{2, fmt.Errorf("anymesh %s runs only on Linux, and this is %s", name, runtime.GOOS)}
		},
	}
}

func sidecarExitCode(error) (int, bool) { return 0, false }
