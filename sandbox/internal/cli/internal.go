package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/sandbox/internal/controlplane"
	"anymesh.dev/anymesh/sandbox/internal/lab"
	"anymesh.dev/anymesh/sandbox/internal/node"
	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// internalCommands are the commands that this program runs as child processes: one for the supervisor, one for the
// inside, and four per cluster.
func internalCommands(p *place) []*cobra.Command {
	inside := &cobra.Command{
		Use: "inside", Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return lab.Inside(p.dir) },
	}
	out := []*cobra.Command{superviseCommand(), inside}
	for name, run := range map[string]func(context.Context, plan.Lab, plan.Cluster) error{
		lab.ControlPlane: controlplane.Run,
		lab.DNS:          node.RunDNS,
		"node":           node.Run,
		"proxy":          func(_ context.Context, l plan.Lab, c plan.Cluster) error { return node.RunProxy(l, c) },
	} {
		cluster := ""
		c := &cobra.Command{
			Use: name, Hidden: true, Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				s, err := lab.Read(p.dir)
				if err != nil {
					return err
				}
				c, err := s.Lab.Cluster(cluster)
				if err != nil {
					return err
				}
				if err := unix.Sethostname([]byte(c.NodeName())); err != nil {
					return fmt.Errorf("host name: %w", err)
				}
				if name == "proxy" { // it does not handle signals: use the default action
					return run(cmd.Context(), s.Lab, c)
				}
				ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
				defer stop()
				return run(ctx, s.Lab, c)
			},
		}
		c.Flags().StringVar(&cluster, "cluster", "", "")
		out = append(out, c)
	}
	return out
}

func superviseCommand() *cobra.Command {
	var spec string
	var timeout time.Duration
	c := &cobra.Command{
		Use: "supervise", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var l plan.Lab
			if err := json.Unmarshal([]byte(spec), &l); err != nil {
				return fmt.Errorf("--plan: %w", err)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP) // "up" exits, and terminals close
			out := json.NewEncoder(os.Stdout)
			return lab.Supervise(ctx, l, timeout, func(e lab.Event) { _ = out.Encode(e) })
		},
	}
	c.Flags().StringVar(&spec, "plan", "", "")
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "")
	return c
}
