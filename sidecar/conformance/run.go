package conformance

import (
	"os"
	"slices"
	"testing"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/test/cases"
)

// Main runs the tests of a package, and the pods that they start for the sidecars. TestMain calls it.
func Main(m *testing.M, sidecars ...Sidecar) {
	runPod(sidecars, inside)
	os.Exit(m.Run())
}

// Cases returns the cases of all dialects.
func Cases() ([]*Case, error) {
	var out []*Case
	for _, name := range cases.Names("*") {
		c, err := ReadCase(name)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Run checks that a sidecar behaves as the interpreter decides, in each case of which its driver declares all that a
// workload needs. Each workload of a case is a subtest, and has a pod of its own. The log ends with a report: for each
// feature, the workloads that need it and those that failed. Run requires root.
func Run(t *testing.T, s Sidecar) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("creating namespaces requires root")
	}
	all := s.pods(t)
	r := newFeatureReport(s.Driver, all)
	t.Cleanup(func() { t.Logf("\n%s", r) })
	for _, w := range all {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() { r.add(w, !t.Failed()) })
			report(t, s, func() ([]string, error) { return observe(t.Context(), w.Case, w.name, s.Name) })
		})
	}
	if len(all) == 0 {
		t.Errorf("driver %s declares no case", s.Name)
	}
}

// report reports differences.
func report(t *testing.T, s Sidecar, result func() ([]string, error)) {
	t.Helper()
	wrong, err := result()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Errorf("%s: %s", s.Name, w)
	}
}

// lines returns the requests of a workload that the sidecar decides: those of the file, and those derived from its
// view.
func (s Sidecar) lines(c *Case, view *model.View, workload string) []Line {
	own := slices.DeleteFunc(slices.Clone(c.Lines), func(l Line) bool {
		return l.Workload != workload || l.Except == s.Name
	})
	all := slices.Concat(own, derivedLines(view, workload, own))
	if !s.proxyless() {
		return all
	}
	if view.Gateway {
		return nil
	}
	return libraryLines(view, all)
}
