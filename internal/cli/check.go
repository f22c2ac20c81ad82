package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/check"
	"anymesh.dev/anymesh/internal/cli/inspect"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
)

func checkCommand() *cobra.Command {
	var s source
	var output, system string
	var before bool
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "check",
		Short: "Say whether Anymesh is well, or with --pre whether it can be installed",
		Long: "Say whether Anymesh is well, or with --pre whether it can be installed. Each check has a code; docs/check.md explains them.\n\n" +
			"Exit code 0 means that no check failed, 1 that one did.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := terminal.CheckFormat(output, "text", "json"); err != nil {
				return exitError{2, err}
			}
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			cluster, err := s.checked(system)
			if err != nil {
				return err
			}
			stage := check.After
			if before {
				stage = check.Before
			}
			out := c.OutOrStdout()
			p := progress{out: out, style: terminal.StyleFor(out), live: terminal.IsTerminal(out)}
			if output == "json" {
				p = progress{out: io.Discard}
			}
			results := check.Run(ctx, cluster, stage, p.begin, p.done)
			failures := check.Count(results, check.Failed)
			if output == "json" {
				err = terminal.JSON(out, results)
			} else {
				p.sum(failures, check.Count(results, check.Warned))
			}
			if err == nil && failures > 0 {
				return exitError{code: 1}
			}
			return err
		},
	}
	s.addCluster(c)
	c.Flags().BoolVar(&before, "pre", false, "look whether Anymesh can be installed")
	c.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long all checks may take")
	addSystemNamespace(c, &system)
	return c
}

// checked connects to the cluster that is checked. It asks nothing of it: whether it answers is the first check.
func (s *source) checked(system string) (*check.Cluster, error) {
	config, _, err := clusterConfig(s.kubeconfig, s.context)
	if err != nil {
		return nil, err
	}
	config.Timeout = clientTimeout
	scheme, err := dialect.NewScheme()
	if err != nil {
		return nil, err
	}
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	kube, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var once sync.Once
	var state *engine.State
	var stateErr error
	return &check.Cluster{
		Dialects: dialect.All(), Host: config.Host, Client: kube, Kube: typed, Namespace: system, Now: time.Now(),
		Sidecars: func(ctx context.Context) ([]inspect.Sidecar, error) {
			forward, _, err := clusterConfig(s.kubeconfig, s.context) // without the time limit of a request
			if err != nil {
				return nil, err
			}
			return sidecars(ctx, kube, forward, system)
		},
		State: func(ctx context.Context) (*engine.State, error) {
			once.Do(func() { state, _, stateErr = s.state(ctx, nil) })
			return state, stateErr
		},
	}, nil
}

// progress shows checks as they go. On a terminal, the one that runs has a line that its result replaces.
type progress struct {
	out   io.Writer
	style terminal.Style
	live  bool
}

func (p progress) begin(title string) {
	if p.live {
		_, _ = fmt.Fprintf(p.out, "%s %s", p.style.Dim("·"), p.style.Dim(title+" ..."))
	}
}

func (p progress) done(r check.Result) {
	if p.live {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
	}
	s := p.style
	mark := map[check.Status]string{check.Passed: s.Green("✓"), check.Warned: s.Yellow("!"), check.Failed: s.Red("✗"), check.Skipped: s.Dim("-")}[r.Status]
	switch r.Status {
	case check.Passed, check.Skipped:
		_, _ = fmt.Fprintf(p.out, "%s %s", mark, r.Title)
		if r.Detail != "" {
			_, _ = fmt.Fprint(p.out, s.Dim(" ("+r.Detail+")"))
		}
		_, _ = fmt.Fprintln(p.out)
	default:
		_, _ = fmt.Fprintf(p.out, "%s %s\n    %s: %s\n    %s\n    %s %s\n    %s\n", mark, r.Title, s.Bold(string(r.Code)), r.Detail,
			r.Meaning, s.Bold("What to do:"), r.Remedy, s.Dim("See "+r.Page))
	}
}

func (p progress) sum(failures, warnings int) {
	text := p.style.Green("all is well")
	switch {
	case failures > 0:
		text = p.style.Red(terminal.Count(failures, "check failed", "checks failed"))
	case warnings > 0:
		text = p.style.Yellow("nothing failed; " + terminal.Count(warnings, "warning", "warnings"))
	}
	_, _ = fmt.Fprintln(p.out, "\n"+text)
}
