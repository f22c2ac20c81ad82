package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/cli/compare"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/driver"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/sidecar"
)

func compareCommand() *cobra.Command {
	var s source
	var with, drivers, ignore []string
	var programs realSidecars
	var output *format
	c := &cobra.Command{
		Use:   "compare -f FOLDER {--with FOLDER2 | --driver A --driver B}",
		Short: "Prove that two sets of manifests, or two sidecar drivers, treat all requests equally",
		Long: "Prove that two sets of manifests, or two sidecar drivers, treat all requests equally, or show what differs. The manifests may\n" +
			"be of different APIs: the proof that a migration changes nothing else.\n\n" +
			"The requests are derived from the conditions of both configurations: each host, path, method, header, client and certificate that\n" +
			"a route or a policy is about, and those that none is about. An application is the same in both if its Deployment, StatefulSet,\n" +
			"DaemonSet, Job or Pod has the same kind, namespace and name; so both sets contain these.\n\n" +
			"--driver compares what the drivers support. With --run, each request is sent through the real sidecars of both drivers, in network\n" +
			"namespaces of this machine, and the answers are compared with what the configuration decides; that needs Linux, root and the\n" +
			"programs of the sidecars on the path. Aspects for --ignore are " + listAspects() + ".\n\n" +
			"Exit codes: 0 if there is no difference, 1 if there is one, 2 for wrong usage, or if there is nothing to compare.",
		Example: "  anymesh compare -f old/ --with new/\n" +
			"  helm template CHART | anymesh compare -f deployed/ --with - -o json\n" +
			"  anymesh compare -f manifests/ --driver A --driver B\n" +
			"  sudo anymesh compare -f manifests/ --driver A --driver B --run\n" +
			"  anymesh compare -f old/ --with new/ --ignore tls,timeouts",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			ignored, err := parseAspects(ignore)
			if err != nil {
				return exitError{2, err}
			}
			if len(s.files) == 0 || (len(with) > 0) == (len(drivers) > 0) || len(with) == 0 && len(drivers) != 2 {
				return exitError{2, errors.New("name two sets of manifests (-f and --with), or one set (-f) and two drivers (--driver, twice)")}
			}
			if err := programs.check(drivers); err != nil {
				return exitError{2, err}
			}
			if programs.pod != "" {
				return programs.inside(c, &s)
			}
			input, err := programs.input(c, s.files)
			if err != nil {
				return err
			}
			a, b, notes, err := s.sides(c, with, drivers)
			if err != nil {
				return err
			}
			report := compare.Run(a, b, ignored)
			if report.Parties == 0 {
				return exitError{2, errors.New("there is nothing to compare: neither side has an application or a gateway in a mesh; " +
					"anymesh lint says what is wrong with manifests")}
			}
			if programs.run {
				if report.Observed, err = programs.observe(c, &s, input, a, b); err != nil {
					return err
				}
			}
			text := func(w io.Writer, style terminal.Style) error { return report.Text(w, style) }
			if err := show(c, output, report, notes, text); err != nil {
				return err
			}
			if !report.Equal() {
				return exitError{code: 1}
			}
			return nil
		},
	}
	c.Flags().StringArrayVarP(&s.files, "filename", "f", nil, "file or folder with manifests, or - for standard input; may be repeated")
	c.Flags().StringArrayVar(&with, "with", nil, "file or folder with the other manifests; may be repeated")
	c.Flags().StringArrayVar(&drivers, "driver", nil, "sidecar driver of all workloads; twice, for the drivers to compare")
	c.Flags().BoolVar(&programs.run, "run", false, "with --driver, send the requests through the real sidecars, too")
	c.Flags().StringVar(&programs.pod, "pod", "", "make this process the pod of a workload with a driver, for --run")
	c.Flags().StringVar(&programs.workload, "workload", "", "mesh and name of the workload of --pod")
	_ = c.Flags().MarkHidden("pod") // they exist
	_ = c.Flags().MarkHidden("workload")
	c.Flags().StringSliceVar(&ignore, "ignore", nil, "aspects that are not compared, separated by commas")
	c.Flags().StringVarP(&s.namespace, "namespace", "n", "default", "namespace of objects without metadata.namespace")
	addDNS(c, &s.dns, "", "; Unresolved if empty")
	output = addFormat(c, "text", "json")
	completeDrivers(c, "driver")
	complete(c, "ignore", aspectNames()...)
	return c
}

// sides computes both configurations.
func (s *source) sides(c *cobra.Command, with, drivers []string) (a, b *compare.Side, notes []string, err error) {
	state, notes, err := s.state(c.Context(), c.InOrStdin())
	if err != nil {
		return nil, nil, nil, err
	}
	if len(drivers) > 0 {
		if a, err = driverSide(drivers[0], state); err != nil {
			return nil, nil, nil, err
		}
		b, err = driverSide(drivers[1], state)
		return a, b, notes, err
	}
	other := source{files: with, namespace: s.namespace, dns: s.dns}
	otherState, more, err := other.state(c.Context(), c.InOrStdin())
	if err != nil {
		return nil, nil, nil, err
	}
	named := func(files []string, all []string) []string {
		for i := range all {
			all[i] = strings.Join(files, ", ") + ": " + all[i]
		}
		return all
	}
	notes = slices.Concat(named(s.files, notes), named(with, more))
	return compare.NewSide(strings.Join(s.files, ", "), state), compare.NewSide(strings.Join(with, ", "), otherState), notes, nil
}

// driverSide is the state with a driver for all workloads.
func driverSide(name string, state *engine.State) (*compare.Side, error) {
	renderer := driver.Renderers()[name]
	if renderer == nil {
		return nil, exitError{2, fmt.Errorf("--driver %q: unknown sidecar driver; known drivers are %s", name,
			strings.Join(sidecar.Drivers(), ", "))}
	}
	return compare.NewDriverSide("driver "+name, name, state, renderer.Supports()), nil
}

// aspectNames are the names of aspects in flags: without spaces.
func aspectNames() []string {
	var out []string
	for _, a := range compare.Aspects() {
		out = append(out, strings.ReplaceAll(string(a), " ", "-"))
	}
	return out
}

func listAspects() string { return strings.Join(aspectNames(), ", ") }

func parseAspects(names []string) ([]compare.Aspect, error) {
	var out []compare.Aspect
	for _, name := range names {
		i := slices.Index(aspectNames(), name)
		if i < 0 {
			return nil, fmt.Errorf("--ignore %q: unknown aspect; aspects are %s", name, listAspects())
		}
		out = append(out, compare.Aspects()[i])
	}
	return out, nil
}
