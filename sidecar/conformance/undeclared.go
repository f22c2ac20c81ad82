package conformance

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"anymesh.dev/anymesh/internal/observe"
	"anymesh.dev/anymesh/model"
)

// declaring is a driver that declares more features.
type declaring struct {
	Driver
	features []model.Feature
}

// Supports implements sidecar.Renderer.
func (d declaring) Supports() map[model.Feature]bool {
	all := maps.Clone(d.Driver.Supports())
	for _, f := range d.features {
		all[f] = true
	}
	return all
}

// RunUndeclared sends the requests whose result depends on a feature that a driver does not declare, for each such
// feature. It returns the features whose requests end as the interpreter decides: the driver could declare them. It has
// the requirements of Run.
func RunUndeclared(t *testing.T, s Sidecar) (could []model.Feature) {
	t.Helper()
	with := func(features ...model.Feature) Sidecar {
		more := s
		more.Driver = declaring{s.Driver, features}
		return more
	}
	all := workloads(t, with(model.AllFeatures()...))
	var mu sync.Mutex
	t.Run("features", func(t *testing.T) { // returns when all of them are done
		for _, f := range model.AllFeatures() {
			runs := slices.DeleteFunc(slices.Clone(all), func(w observe.Workload) bool { return !with(f).Runs(w.View) })
			showing := observe.Showing(runs, f)
			if s.Driver.Supports()[f] || len(showing) == 0 {
				continue
			}
			t.Run(string(f), func(t *testing.T) {
				t.Parallel()
				for _, w := range showing {
					wrong, err := w.Observe(t.Context(), s.Name)
					if err != nil || len(wrong) > 0 {
						t.Logf("%s: %q %v", w, wrong, err)
						return
					}
				}
				mu.Lock()
				defer mu.Unlock()
				could = append(could, f)
			})
		}
	})
	return could
}
