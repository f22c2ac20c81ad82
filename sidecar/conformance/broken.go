package conformance

import (
	"slices"
	"testing"

	"anymesh.dev/anymesh/internal/observe"
	"anymesh.dev/anymesh/model"
)

// RunBroken breaks each feature that a driver declares, one after another, and checks that its real sidecar then fails
// a case that is about the feature, except for some. It returns the features that no request of a case shows: these
// need another test.
func RunBroken(t *testing.T, s Sidecar, except ...model.Feature) (unseen []model.Feature) {
	t.Helper()
	all := workloads(t, s)
	for _, f := range model.AllFeatures() {
		if !s.Driver.Supports()[f] || slices.Contains(except, f) {
			continue
		}
		showing := observe.Showing(all, f)
		if len(showing) == 0 {
			unseen = append(unseen, f)
			continue
		}
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			for _, w := range showing {
				wrong, err := w.ObserveWithout(t.Context(), f, s.Name)
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
