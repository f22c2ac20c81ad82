// Package cli is the sandbox's command line.
//
// In: arguments. Out: an exit status, text for people on the standard streams, JSON where asked for.
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

// NameVariable tells how users call this program ("anymesh sandbox"), for help texts.
const NameVariable = "ANYMESH_SANDBOX_NAME"

// exitStatus is an error that carries a command's exit status and has been told already.
type exitStatus int

// Error implements error.
func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Main runs the command line and gives the exit status.
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

// place is where a lab is found: its name and, unless it lies elsewhere, no folder.
type place struct{ name, dir string }

func newRoot() *cobra.Command {
	name := os.Getenv(NameVariable)
	if name == "" {
		name = "sandbox"
	}
	p := &place{}
	// Kubernetes' packages put flags there, and cobra would show them as ours.
	pflag.CommandLine = pflag.NewFlagSet(name, pflag.ContinueOnError)
	root := &cobra.Command{
		Use:     name,
		Version: "Kubernetes " + plan.KubernetesVersion,
		Short:   "Real Kubernetes clusters on this machine, without Docker",
		Long: `Runs real Kubernetes clusters on this machine: no Docker, no virtual machines, no root needed.
Pods are processes in network namespaces of their own; clusters reach each other's Pods.`,
		SilenceUsage: true, SilenceErrors: true,
	}
	// cobra takes the first word of Use as the name; the display name may have several.
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	root.PersistentFlags().StringVar(&p.name, "name", "lab", "name of the sandbox")
	root.PersistentFlags().StringVar(&p.dir, "dir", "", "state folder (default $XDG_STATE_HOME/anymesh/sandbox/NAME)")
	root.AddCommand(upCommand(p), statusCommand(p), downCommand(p), kubectlCommand(p), execCommand(p), shellCommand(p),
		apiServerCommand(p), imagesCommand(p))
	root.AddCommand(internalCommands(p)...)
	root.CompletionOptions.HiddenDefaultCmd = true
	return root
}

// folder gives the absolute state folder.
func (p *place) folder() (string, error) {
	if p.dir != "" {
		return filepath.Abs(p.dir)
	}
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("state folder: %w: give --dir", err)
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "anymesh", "sandbox", p.name), nil
}
