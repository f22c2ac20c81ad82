package conformance

import (
	"os"
	"slices"
	"testing"

	"anymesh.dev/anymesh/model"
)

// envBroken breaks a feature of the driver of the pod, and sends the requests whose result depends on it.
const envBroken = "ANYMESH_CONFORMANCE_BROKEN"

// resolveDestination returns a destination with its endpoints.
type resolveDestination func(destination model.Key) (model.ResolvedDestination, bool)

// renderedWithout returns what a driver that does not do what a feature says would render: a view and destinations
// without it.
func renderedWithout(f model.Feature, view *model.View, resolve resolveDestination) (*model.View, resolveDestination) {
	if other, decided := without(f, view); decided {
		view = other
	}
	return view, func(key model.Key) (model.ResolvedDestination, bool) {
		reach, found := resolve(key)
		d := &reach.Destination
		of := &model.View{}
		of.Destinations = []model.Destination{*d}
		if f == model.DestinationFeature(d.Protocol) || f == model.DiscoveryFeature(d.Discovery.Kind) {
			reach.Endpoints = nil // as in without
		}
		if h := d.HealthCheck; h != nil && f == model.Feature("healthCheck."+string(h.Protocol)) {
			d.HealthCheck = nil
		}
		if other, decided := without(f, of); decided {
			checks := d.HealthCheck
			*d = other.Destinations[0]
			d.HealthCheck = checks
		}
		return reach, found
	}
}

// RunBroken breaks each feature that a driver declares, one after another, and checks that its real sidecar then fails
// a case that is about the feature, except for some. It returns the features that no request of a case shows: these
// need another test.
func RunBroken(t *testing.T, s Sidecar, except ...model.Feature) (unseen []model.Feature) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("creating namespaces requires root")
	}
	all := s.pods(t)
	for _, f := range model.AllFeatures() {
		if !s.Driver.Supports()[f] || slices.Contains(except, f) {
			continue
		}
		showing := showing(all, f)
		if len(showing) == 0 {
			unseen = append(unseen, f)
			continue
		}
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			for _, w := range showing {
				wrong, err := observe(t.Context(), w.Case, w.name, s.Name, envBroken+"="+string(f))
				if err != nil {
					t.Logf("%s: the sidecar does not start: %v", w, err)
					return
				}
				if len(wrong) > 0 {
					t.Logf("%s: %s", w, wrong[0])
					return
				}
			}
			t.Errorf("driver %s without %s behaves as with it in %v", s.Name, f, showing)
		})
	}
	return unseen
}

// maxShowing limits the workloads that RunBroken and RunUndeclared try for a feature.
const maxShowing = 3

// showing returns workloads that have requests whose result depends on a feature.
func showing(all []workloadOfCase, f model.Feature) (out []workloadOfCase) {
	for _, w := range all {
		if len(out) < maxShowing && w.needs(f) && len(noticing(f, w.lines, w.index, w.view)) > 0 {
			out = append(out, w)
		}
	}
	return out
}

// workloadOfCase is a workload whose requests a sidecar gets.
type workloadOfCase struct {
	*Case
	name  string
	view  *model.View
	index *model.Index
	lines []Line
}

// String implements fmt.Stringer.
func (w workloadOfCase) String() string { return w.Name + "/" + w.name }

func (w workloadOfCase) needs(f model.Feature) bool {
	return slices.ContainsFunc(w.view.Needs(), func(n model.Need) bool { return n.Feature == f })
}

// pods returns the workloads of all cases that a sidecar runs.
func (s Sidecar) pods(t *testing.T) []workloadOfCase {
	t.Helper()
	all, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	var out []workloadOfCase
	for _, c := range all {
		m := c.views()
		for _, name := range c.Workloads() {
			view, err := m.View(name)
			if err != nil {
				t.Fatal(err)
			}
			if lines := s.lines(c, view, name); s.Runs(view) && len(lines) > 0 {
				out = append(out, workloadOfCase{c, name, view, m.State.Index, lines})
			}
		}
	}
	return out
}
