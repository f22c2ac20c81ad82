package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/creack/pty"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"anymesh.dev/anymesh/sandbox/internal/lab"
	"anymesh.dev/anymesh/sandbox/internal/plan"
)

func execCommand(p *place) *cobra.Command {
	cluster := "c1"
	c := &cobra.Command{
		Use:   "exec [--cluster c1] -- COMMAND...",
		Short: "Run a command in the network of a cluster node",
		Long:  "Runs a command in the network namespace of a cluster node, which has access to Pods, Services and the Pods of other clusters. The command uses the file system of this machine.",
		Args:  cobra.MinimumNArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return p.exec(cmd.Context(), cluster, args) },
	}
	c.Flags().StringVar(&cluster, "cluster", cluster, "name of the cluster")
	return c
}

func shellCommand(p *place) *cobra.Command {
	cluster := "c1"
	c := &cobra.Command{
		Use:   "shell [--cluster c1]",
		Short: "Open a shell in the network of a cluster node",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			shell := os.Getenv("SHELL")
			if shell == "" {
				shell = "/bin/sh"
			}
			return p.exec(cmd.Context(), cluster, []string{shell})
		},
	}
	c.Flags().StringVar(&cluster, "cluster", cluster, "name of the cluster")
	return c
}

// running returns a lab that is ready and one of its clusters.
func (p *place) running(cluster string) (lab.State, plan.Cluster, error) {
	s, err := p.ready()
	if err != nil {
		return s, plan.Cluster{}, err
	}
	c, err := s.Lab.Cluster(cluster)
	return s, c, err
}

func (p *place) exec(ctx context.Context, cluster string, argv []string) error {
	s, c, err := p.running(cluster)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	command := lab.Command{
		Cluster: cluster, Argv: argv, Dir: dir, Env: append(os.Environ(), "KUBECONFIG="+s.Lab.InsideKubeconfig(c)),
	}
	run := func(in, out, errOut *os.File) error {
		code, err := lab.Exec(ctx, s.Lab.Dir, command, in, out, errOut)
		if err == nil && code != 0 {
			return exitStatus(code)
		}
		return err
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return run(os.Stdin, os.Stdout, os.Stderr)
	}
	command.TTY = true
	return onTerminal(run)
}

// onTerminal runs the command on a new terminal and copies to and from the current one, which cannot control the
// processes inside.
func onTerminal(run func(in, out, errOut *os.File) error) error {
	outer, inner, err := pty.Open()
	if err != nil {
		return err
	}
	defer outer.Close()
	old, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return err
	}
	defer term.Restore(int(os.Stdin.Fd()), old)
	_ = pty.InheritSize(os.Stdin, outer)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	go func() {
		for range resized {
			_ = pty.InheritSize(os.Stdin, outer)
		}
	}()
	go func() { _, _ = io.Copy(outer, os.Stdin) }()
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(os.Stdout, outer) // ends with EIO when all inner ends are closed
	}()
	err = run(inner, inner, inner)
	inner.Close()
	<-copied
	return err
}
