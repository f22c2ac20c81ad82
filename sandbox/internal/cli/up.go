package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/sandbox/internal/imagemap"
	"anymesh.dev/anymesh/sandbox/internal/lab"
	"anymesh.dev/anymesh/sandbox/internal/plan"
)

type upFlags struct {
	clusters   int
	images     []string
	foreground bool
	apiOnly    bool
	userNS     bool
	timeout    time.Duration
	output     string
}

func upCommand(p *place) *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start clusters and wait until they are ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.output != "text" && f.output != "json" {
				return fmt.Errorf("--output=%s: must be text or json", f.output)
			}
			plan, err := f.plan(p)
			if err != nil {
				return err
			}
			if f.foreground {
				return f.runForeground(cmd.Context(), plan)
			}
			return f.runDetached(plan)
		},
	}
	fs := cmd.Flags()
	fs.IntVar(&f.clusters, "clusters", 1,
		fmt.Sprintf("number of clusters, 1 to %d, with the names c1, c2, ...", plan.MaxClusters))
	fs.StringArrayVar(&f.images, "images", nil,
		"YAML file that maps images to programs or archives; can be repeated, later files take precedence")
	fs.BoolVar(&f.foreground, "foreground", false, "run in the foreground, and stop the clusters on Ctrl-C")
	fs.BoolVar(&f.apiOnly, "api-server-only", false,
		"start etcd and the API server only, without controllers, scheduler, node and DNS")
	fs.BoolVar(&f.userNS, "userns", os.Geteuid() != 0, "run in a user namespace (always, without root)")
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "maximum time until the clusters are ready")
	fs.StringVar(&f.output, "output", "text", "text or json")
	return cmd
}

// plan validates the flags before anything is started.
func (f *upFlags) plan(p *place) (plan.Lab, error) {
	dir, err := p.folder()
	if err != nil {
		return plan.Lab{}, err
	}
	l, err := plan.New(p.name, dir, f.clusters)
	if err != nil {
		return plan.Lab{}, err
	}
	for _, i := range f.images {
		abs, err := filepath.Abs(i)
		if err != nil {
			return plan.Lab{}, err
		}
		l.Images = append(l.Images, abs)
	}
	if _, err := imagemap.Load(l.Images...); err != nil {
		return plan.Lab{}, err
	}
	if _, err := exec.LookPath("nft"); err != nil {
		if _, err := os.Stat("/usr/sbin/nft"); err != nil {
			return plan.Lab{}, errors.New("program nft not found; kube-proxy requires it: install package nftables")
		}
	}
	l.APIServerOnly = f.apiOnly
	l.UserNS = f.userNS || os.Geteuid() != 0
	alive, err := lab.Alive(dir)
	if err != nil {
		return plan.Lab{}, err
	}
	if alive {
		return plan.Lab{},
			fmt.Errorf("sandbox %q is already running (%s): use another --name, or run \"down\" first", p.name,
				dir)
	}
	return l, lab.Clean(dir)
}

func (f *upFlags) runForeground(ctx context.Context, l plan.Lab) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	show := newProgress(os.Stderr, l)
	var printErr error
	err := lab.Supervise(ctx, l, f.timeout, func(e lab.Event) {
		show.event(e)
		if e.Done {
			printErr = f.print(l.Dir)
		}
	})
	show.end()
	if err != nil {
		return err // keep the logs that the error names
	}
	return errors.Join(printErr, lab.Clean(l.Dir))
}

// runDetached starts the supervisor in the background and reports its progress.
func (f *upFlags) runDetached(l plan.Lab) error {
	if err := os.MkdirAll(l.LogDir(), 0o700); err != nil {
		return err
	}
	logs, err := os.OpenFile(filepath.Join(l.LogDir(), "supervisor.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer logs.Close()
	spec, err := json.Marshal(l)
	if err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe", "supervise", "--plan", string(spec), "--timeout", f.timeout.String())
	cmd.Stderr, cmd.Dir = logs, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		<-interrupted
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}()
	show := newProgress(os.Stderr, l)
	var failure error
	done := false
	lab.ReadEvents(from, func(e lab.Event) {
		show.event(e)
		if e.Err != "" {
			failure = errors.New(e.Err)
		}
		if e.Done {
			done = true
			from.Close() // the supervisor continues in the background
		}
	})
	show.end()
	if done {
		return f.print(l.Dir)
	}
	err = cmd.Wait()
	if failure != nil {
		return failure
	}
	return fmt.Errorf("the supervisor exited: %w; see %s", err, logs.Name())
}

func (f *upFlags) print(dir string) error {
	s, err := lab.Read(dir)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return printJSON(os.Stdout, report(s))
	}
	return printTable(os.Stdout, report(s))
}
