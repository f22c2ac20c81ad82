package cli

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"anymesh.dev/anymesh/internal/cli/compare"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/observe"
	"anymesh.dev/anymesh/sidecar"
)

// realSidecars are the flags of compare --run. pod and workload make this process the pod of a workload with a driver.
type realSidecars struct {
	run           bool
	pod, workload string
}

// podsAtOnce is how many pods run at once. They wait most of the time.
const podsAtOnce = 4

func (r realSidecars) check(drivers []string) error {
	switch {
	case !r.run:
		return nil
	case len(drivers) != 2:
		return errors.New("--run requires two drivers (--driver, twice)")
	case !observe.MayRun():
		return errors.New("--run creates network namespaces and requires root")
	}
	return nil
}

// input returns the standard input, for this process and the pods that read the manifests again.
func (r realSidecars) input(c *cobra.Command, files []string) (string, error) {
	if !r.run || !slices.Contains(files, "-") {
		return "", nil
	}
	text, err := io.ReadAll(c.InOrStdin())
	c.SetIn(strings.NewReader(string(text)))
	return string(text), err
}

// observe sends the requests of all workloads through the real sidecars of both sides.
func (r realSidecars) observe(c *cobra.Command, s *source, input string, sides ...*compare.Side) (
	[]compare.Observation, error) {
	var out []compare.Observation
	type job struct {
		at        int
		arguments []string
	}
	var jobs []job
	for _, side := range sides {
		if _, err := sidecarOf(side.Driver()); err != nil {
			return nil, exitError{2, err}
		}
		keys, names := side.Workloads()
		for i, key := range keys {
			arguments := []string{
				"compare", "--run", "--driver", side.Driver(), "--driver", side.Driver(), "--pod", side.Driver(),
				"--workload", key.String(), "--namespace", s.namespace, "--dns", s.dns,
			}
			for _, f := range s.files {
				arguments = append(arguments, "--filename", f)
			}
			jobs = append(jobs, job{len(out), arguments})
			out = append(out, compare.Observation{Driver: side.Driver(), Party: names[i]})
		}
	}
	style := terminal.StyleFor(c.ErrOrStderr())
	var g errgroup.Group
	g.SetLimit(podsAtOnce)
	for n, j := range jobs {
		g.Go(func() error {
			o := &out[j.at]
			if terminal.IsTerminal(c.ErrOrStderr()) {
				fmt.Fprintln(c.ErrOrStderr(), style.Dim(fmt.Sprintf("%d of %d: %s with %s", n+1, len(jobs), o.Party, o.Driver)))
			}
			result, err := observe.Start(c.Context(), input, j.arguments)
			if err != nil {
				o.Failed = err.Error()
			}
			o.Requests, o.Differences = result.Requests, result.Differences
			return c.Context().Err()
		})
	}
	return out, g.Wait()
}

// inside is the pod: it sends the requests, and writes the result.
func (r realSidecars) inside(c *cobra.Command, s *source) error {
	dialects, objects, _, err := s.fromFiles(c.InOrStdin())
	if err != nil {
		return err
	}
	mode, err := parseDNSMode(s.dns)
	if err != nil {
		return err
	}
	observe.Place(objects)
	side, err := driverSide(r.pod, engine.Compute(dialects, engine.Settings{DNS: mode}, objects))
	if err != nil {
		return err
	}
	of, err := sidecarOf(r.pod)
	if err != nil {
		return err
	}
	keys, _ := side.Workloads()
	for _, key := range keys {
		if key.String() == r.workload {
			result, err := of.View(c.Context(), side.State(), key)
			if err != nil {
				return err
			}
			return terminal.JSON(c.OutOrStdout(), result)
		}
	}
	return fmt.Errorf("no workload %s", r.workload)
}

// sidecarOf returns the sidecar of a driver, with its program on this machine.
func sidecarOf(name string) (observe.Sidecar, error) {
	renderer, _ := sidecar.RendererOf(name)
	driver, is := renderer.(observe.Driver)
	if !is {
		return observe.Sidecar{}, fmt.Errorf("--driver %q: the control plane does not deliver the configuration of its sidecars", name)
	}
	of, err := observe.SidecarOf(name, driver, func(program string) (string, error) {
		if program == "anymesh" {
			return "/proc/self/exe", nil // readable for the user of sidecars, wherever this program is
		}
		return exec.LookPath(program)
	})
	if err != nil {
		return observe.Sidecar{}, fmt.Errorf("--driver %q: %w", name, err)
	}
	return of, nil
}
