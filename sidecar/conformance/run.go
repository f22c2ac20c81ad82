package conformance

import (
	"os"
	"testing"

	"anymesh.dev/anymesh/internal/observe"
)

// Sidecar is what the tests are about: a driver, and the program of its sidecar.
type Sidecar = observe.Sidecar

// Driver is a driver for which the control plane delivers configuration.
type Driver = observe.Driver

// Main runs the tests of a package, and the pods that they start for the sidecars. TestMain calls it.
func Main(m *testing.M, sidecars ...Sidecar) {
	observe.RunPod(sidecars...)
	os.Exit(m.Run())
}

// workloads returns the workloads of all cases that a sidecar runs. Without root, it skips the test.
func workloads(t *testing.T, s Sidecar) []observe.Workload {
	t.Helper()
	if !observe.MayRun() {
		t.Skip("creating namespaces requires root")
	}
	all, err := s.Workloads()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Run checks that a sidecar behaves as the interpreter decides, in each case of which its driver declares all that a
// workload needs. Each workload of a case is a subtest, and has a pod of its own. The log ends with a report: for each
// feature, the workloads that need it and those that failed. Run requires root.
func Run(t *testing.T, s Sidecar) {
	t.Helper()
	all := workloads(t, s)
	r := newFeatureReport(s.Driver, all)
	t.Cleanup(func() { t.Logf("\n%s", r) })
	for _, w := range all {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() { r.add(w, !t.Failed()) })
			wrong, err := w.Observe(t.Context(), s.Name)
			if err != nil {
				t.Fatal(err)
			}
			for _, difference := range wrong {
				t.Errorf("%s: %s", s.Name, difference)
			}
		})
	}
	if len(all) == 0 {
		t.Errorf("driver %s declares no case", s.Name)
	}
}
