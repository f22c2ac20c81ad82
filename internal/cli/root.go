// Package cli implements the commands of the anymesh program.
//
// In: arguments, manifests, and the cluster of the kubeconfig. Out: text or JSON, and an exit code:
// 0 for success, 1 for failure, 2 for wrong usage.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"anymesh.dev/anymesh/internal/build"
)

// exitError sets the exit code of the program. Nothing is printed if err is nil.
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

// Run runs one command and returns its exit code. Libraries of Kubernetes do not write to the terminal: commands
// return their errors. Commands that run in the cluster set a logger of their own.
func Run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	klog.SetLogger(logr.Discard())
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

// Root returns the root command with all subcommands.
func Root() *cobra.Command {
	root := &cobra.Command{
		Use:           "anymesh",
		Short:         "Any mesh API, any sidecar, all your clusters",
		Version:       build.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddGroup(
		&cobra.Group{ID: "user", Title: "User commands:"},
		&cobra.Group{ID: "cluster", Title: "Commands that run in the cluster:"})
	for _, c := range []*cobra.Command{
		installCommand(), uninstallCommand(), lintCommand(), explainCommand(), compareCommand(), describeCommand(),
		graphCommand(), proxyCommand(), identityCommand(), checkCommand(), memberCommand(), sandboxCommand(),
		versionCommand(),
	} {
		c.GroupID = "user"
		root.AddCommand(c)
	}
	for _, c := range append(clusterCommands(), aggregatorCommand(), releaseFinalizersCommand()) {
		c.GroupID = "cluster"
		root.AddCommand(c)
	}
	strict(root)
	return root
}

// logger returns a logger for standard error, and makes it the default logger.
func logger(level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level %q: use debug, info, warn or error", level)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: l}))
	slog.SetDefault(log)
	return log, nil
}
