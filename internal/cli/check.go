package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
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
	var output *format
	var before bool
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "check",
		Short: "Check the Anymesh installation, or with --pre the cluster before an installation",
		Long: "Check the Anymesh installation. With --pre, check whether Anymesh can be installed into the cluster.\n" +
			"docs/check.md explains the code of each check.\n\n" +
			"Exit codes: 0 if no check fails, 1 if a check fails or the user may not run it, 2 for wrong usage.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			cluster, err := s.checkTarget()
			if err != nil {
				return err
			}
			stage := check.After
			if before {
				stage = check.Before
			}
			out := c.OutOrStdout()
			p := progress{out: out, style: terminal.StyleFor(out), live: terminal.IsTerminal(out)}
			if output.isJSON() {
				p = progress{out: io.Discard}
			}
			results := check.Run(ctx, cluster, stage, p.begin, p.done)
			failures, forbidden := check.Count(results, check.Failed), check.Count(results, check.Forbidden)
			if output.isJSON() {
				err = terminal.JSON(out, results)
			} else {
				p.summary(failures, forbidden, check.Count(results, check.Warned))
			}
			if err == nil && failures+forbidden > 0 {
				return exitError{code: 1}
			}
			return err
		},
	}
	s.addCluster(c)
	c.Flags().BoolVar(&before, "pre", false, "check whether Anymesh can be installed")
	output = addFormat(c, "text", "json")
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "maximum duration of all checks")
	return c
}

// checkTarget creates the clients for the cluster to check. It sends no request: the first check does.
func (s *source) checkTarget() (*check.Cluster, error) {
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
		Dialects: dialect.All(), Host: config.Host, Client: kube, Kube: typed, Namespace: s.system, Now: time.Now(),
		Sidecars: func(ctx context.Context) ([]inspect.Sidecar, error) {
			// without a request timeout: the connection is long-lived
			forward, _, err := clusterConfig(s.kubeconfig, s.context)
			if err != nil {
				return nil, err
			}
			return sidecars(ctx, kube, forward, s.system)
		},
		State: func(ctx context.Context) (*engine.State, error) {
			once.Do(func() { state, _, stateErr = s.state(ctx, nil) })
			return state, stateErr
		},
		Configured: func(ctx context.Context) ([]dialect.Dialect, error) {
			dialects, _, _, err := s.settings(ctx, kube)
			return dialects, err
		},
		Settings: func(ctx context.Context) (engine.Settings, error) {
			_, settings, _, err := s.settings(ctx, kube)
			return settings, err
		},
	}, nil
}

// progress prints checks while they run. On a terminal, the line of the running check is replaced by its result.
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
	mark := map[check.Status]string{
		check.Passed: s.Green("✓"), check.Warned: s.Yellow("!"), check.Failed: s.Red("✗"),
		check.Forbidden: s.Red("?"), check.Skipped: s.Dim("-"),
	}[r.Status]
	switch r.Status {
	case check.Passed, check.Skipped:
		_, _ = fmt.Fprintf(p.out, "%s %s", mark, r.Title)
		if r.Detail != "" {
			_, _ = fmt.Fprint(p.out, s.Dim(" ("+r.Detail+")"))
		}
		_, _ = fmt.Fprintln(p.out)
	default:
		_, _ = fmt.Fprintf(p.out, "%s %s\n    %s: %s\n    %s\n    %s %s\n    %s\n", mark, r.Title,
			s.Bold(string(r.Code)), r.Detail,
			r.Meaning, s.Bold("What to do:"), r.Remedy, s.Dim("See "+r.Page))
	}
}

func (p progress) summary(failures, forbidden, warnings int) {
	text := p.style.Green("all checks passed")
	switch {
	case failures+forbidden > 0:
		var parts []string
		if failures > 0 {
			parts = append(parts, terminal.Count(failures, "check failed", "checks failed"))
		}
		if forbidden > 0 {
			parts = append(parts, terminal.Count(forbidden, "check is", "checks are")+" forbidden for this user")
		}
		text = p.style.Red(strings.Join(parts, "; "))
	case warnings > 0:
		text = p.style.Yellow("no check failed; " + terminal.Count(warnings, "warning", "warnings"))
	}
	_, _ = fmt.Fprintln(p.out, "\n"+text)
}
