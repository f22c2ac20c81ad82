package observe

import (
	"context"
	"fmt"
	"slices"

	"anymesh.dev/anymesh/model"
)

// Workload is a workload of a case whose requests a sidecar gets.
type Workload struct {
	*Case
	View *model.View

	name  string
	index *model.Index
	lines []Line
}

// String is the name of the case and of the workload.
func (w Workload) String() string { return w.Name + "/" + w.name }

func (w Workload) needs(f model.Feature) bool {
	return slices.ContainsFunc(w.View.Needs(), func(n model.Need) bool { return n.Feature == f })
}

// Workloads returns the workloads of all cases that a sidecar runs.
func (s Sidecar) Workloads() ([]Workload, error) {
	all, err := Cases()
	if err != nil {
		return nil, err
	}
	var out []Workload
	for _, c := range all {
		m := c.views()
		for _, name := range c.Workloads() {
			view, err := m.View(name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			if lines := s.lines(c, view, name); s.Runs(view) && len(lines) > 0 {
				out = append(out, Workload{c, view, name, m.State.Index, lines})
			}
		}
	}
	return out, nil
}

// Observe sends the requests of a workload through the sidecar of a name, in a pod of its own, and returns the
// differences from what the interpreter decides. The main function of the program calls RunPod. It requires root.
func (w Workload) Observe(ctx context.Context, sidecar string) ([]string, error) {
	return observe(ctx, w.Case, w.name, sidecar)
}

// ObserveWithout sends the requests whose result depends on a feature, through a sidecar whose configuration does not
// have it. It has the requirements of Observe.
func (w Workload) ObserveWithout(ctx context.Context, f model.Feature, sidecar string) ([]string, error) {
	return observe(ctx, w.Case, w.name, sidecar, envBroken+"="+string(f))
}

// maxShowing limits the workloads that show a feature.
const maxShowing = 3

// Showing returns workloads that have requests whose result depends on a feature.
func Showing(all []Workload, f model.Feature) (out []Workload) {
	for _, w := range all {
		if len(out) < maxShowing && w.needs(f) && len(noticing(f, w.lines, w.index, w.View)) > 0 {
			out = append(out, w)
		}
	}
	return out
}
