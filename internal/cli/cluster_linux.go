package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/pod/agent"
	"anymesh.dev/anymesh/internal/pod/capture"
)

// clusterCommands are the verbs that containers run.
func clusterCommands() []*cobra.Command {
	return []*cobra.Command{controllerCommand(), agent.Command(), capture.Command()}
}

// sidecarExitCode is the exit code of the sidecar's process, if that is what ended the agent.
func sidecarExitCode(err error) (int, bool) {
	var exit *agent.ExitError
	if !errors.As(err, &exit) {
		return 0, false
	}
	return exit.Code, true
}
