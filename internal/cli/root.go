// Package cli is what people type: the verbs of the anymesh program.
//
// In: arguments, and the cluster that the kubeconfig names. Out: tables and texts for people, JSON for programs, exit codes for both:
// 0 for success, 1 for failure, 2 for wrong usage.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/charts"
)

// Version is that of the chart and of the images: one is released with the others.
var Version = charts.Version()

// exitError ends the program with a code other than 1, and says nothing if Err is nil.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// Run runs one command and gives its exit code.
func Run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := Root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if code, ok := sidecarExitCode(err); ok {
		return code
	}
	var exit exitError
	if errors.As(err, &exit) {
		if exit.err != nil {
			_, _ = fmt.Fprintln(errOut, "anymesh:", exit.err)
		}
		return exit.code
	}
	_, _ = fmt.Fprintln(errOut, "anymesh:", err)
	return 1
}

// Root gives the command with all its verbs.
func Root() *cobra.Command {
	root := &cobra.Command{
		Use:           "anymesh",
		Short:         "Any mesh API, any sidecar, all your clusters",
		Version:       Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddGroup(
		&cobra.Group{ID: "people", Title: "For people:"},
		&cobra.Group{ID: "cluster", Title: "What runs in the cluster:"})
	for _, c := range []*cobra.Command{
		installCommand(), uninstallCommand(), lintCommand(), explainCommand(), describeCommand(), graphCommand(),
		proxyCommand(), identityCommand(), checkCommand(), sandboxCommand(),
	} {
		c.GroupID = "people"
		root.AddCommand(c)
	}
	for _, c := range clusterCommands() {
		c.GroupID = "cluster"
		root.AddCommand(c)
	}
	strict(root)
	return root
}

// logger writes structured lines of the given level and above.
func logger(level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level %q: use debug, info, warn or error", level)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: l}))
	slog.SetDefault(log)
	return log, nil
}
