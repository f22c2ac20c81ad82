package conformance

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"

	"anymesh.dev/anymesh/internal/observe"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// featureReport says for each feature of a driver how many workloads of cases need it, and which of them failed.
type featureReport struct {
	supports  map[model.Feature]bool
	workloads map[model.Feature]int

	mu     sync.Mutex
	failed map[model.Feature][]string
}

func newFeatureReport(driver sidecar.Renderer, all []observe.Workload) *featureReport {
	r := &featureReport{driver.Supports(), map[model.Feature]int{}, sync.Mutex{}, map[model.Feature][]string{}}
	for _, w := range all {
		for _, n := range w.View.Needs() {
			r.workloads[n.Feature]++
		}
	}
	return r
}

// add adds the result of a workload.
func (r *featureReport) add(w observe.Workload, passed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range w.View.Needs() {
		if !passed {
			r.failed[n.Feature] = append(r.failed[n.Feature], w.String())
		}
	}
}

// String is a table of the declared features.
func (r *featureReport) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FEATURE\tWORKLOADS\tFAILED")
	for _, f := range model.AllFeatures() {
		if r.supports[f] {
			fmt.Fprintf(table, "%s\t%d\t%s\n", f, r.workloads[f], strings.Join(r.failed[f], " "))
		}
	}
	_ = table.Flush() // to memory
	return out.String()
}
