// Package cli contains the command line of the sandbox.
//
// In: arguments. Out: an exit status, text on the standard streams, and JSON on request.
package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// NameVariable contains the command that users run ("anymesh sandbox"), for help texts.
const NameVariable = "ANYMESH_SANDBOX_NAME"

// exitStatus is an error with the exit status of a command that has printed its error.
type exitStatus int

// Error implements error.
func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Main runs the command line and returns the exit status.
func Main(args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return 0
	}
	var status exitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", root.Use, err)
	return 1
}

// place identifies a lab by its name, and by its folder if it is not the default.
type place struct{ name, dir string }

func newRoot() *cobra.Command {
	name := os.Getenv(NameVariable)
	if name == "" {
		name = "sandbox"
	}
	p := &place{}
	// Kubernetes packages register flags there, which cobra would add to the help text.
	pflag.CommandLine = pflag.NewFlagSet(name, pflag.ContinueOnError)
	root := &cobra.Command{
		Use:     name,
		Version: "Kubernetes " + plan.KubernetesVersion,
		Short:   "Real Kubernetes clusters on this machine, without Docker",
		Long: `Runs real Kubernetes clusters on this machine: without Docker, virtual machines or root.
Pods are processes in separate network namespaces. Pods of different clusters can connect to each other.`,
		SilenceUsage: true, SilenceErrors: true,
	}
	// cobra uses the first word of Use as the name; the display name may contain spaces.
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	root.PersistentFlags().StringVar(&p.name, "name", "lab", "name of the sandbox")
	root.PersistentFlags().StringVar(&p.dir, "dir", "", "state folder (default $XDG_STATE_HOME/anymesh/sandbox/NAME)")
	root.AddCommand(upCommand(p), statusCommand(p), downCommand(p), kubectlCommand(p), execCommand(p), shellCommand(p),
		apiServerCommand(p), dnsCommand(p), imagesCommand(p))
	root.AddCommand(internalCommands(p)...)
	root.CompletionOptions.HiddenDefaultCmd = true
	return root
}

// folder returns the absolute state folder.
func (p *place) folder() (string, error) {
	if p.dir != "" {
		return filepath.Abs(p.dir)
	}
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("state folder: %w: use --dir", err)
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "anymesh", "sandbox", p.name), nil
}
