package compare

import (
	"fmt"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Observation is what the real sidecar of a driver did with the requests of a workload.
type Observation struct {
	Driver string `json:"driver"`
	Party  string `json:"party"`
	// Requests counts the requests that were sent.
	Requests int `json:"requests"`
	// Differences describe the requests that did not end as the configuration decides.
	Differences []string `json:"differences,omitempty"`
	// Failed is why no request was sent.
	Failed string `json:"failed,omitempty"`
}

// State is the configuration of the side.
func (s *Side) State() *engine.State { return s.state }

// Workloads returns the workloads of a side, and the names of their parties.
func (s *Side) Workloads() (keys []model.Key, names []string) {
	for _, p := range s.parties() {
		if !slices.Contains(keys, p.workload.Key) {
			keys, names = append(keys, p.workload.Key), append(names, partners{a: &p}.name())
		}
	}
	return keys, names
}

// AsDecided reports whether all requests were sent, and ended as the configuration decides.
func (o Observation) AsDecided() bool { return o.Failed == "" && len(o.Differences) == 0 }

// maxShown limits the differences of an observation that the text has.
const maxShown = 5

// observed writes what the real sidecars did.
func (r *Report) observed(b *strings.Builder, s terminal.Style) error {
	if len(r.Observed) == 0 {
		return nil
	}
	table := terminal.Table{}
	table.Row(s.Bold("DRIVER"), s.Bold("WORKLOAD"), s.Bold("REQUESTS"), s.Bold("AS DECIDED"))
	for _, o := range r.Observed {
		result := s.Green("all")
		switch {
		case o.Failed != "":
			result = s.Red("not sent: " + o.Failed)
		case len(o.Differences) > 0:
			result = s.Red("all but " + fmt.Sprint(len(o.Differences)))
		}
		table.Row(o.Driver, o.Party, fmt.Sprint(o.Requests), result)
		for i, d := range o.Differences {
			if i == maxShown {
				table.Row("", "", "", s.Dim(fmt.Sprintf("and %d others; -o json has all", len(o.Differences)-i)))
				break
			}
			table.Row("", "", "", d)
		}
	}
	if err := table.Write(b, s); err != nil {
		return err
	}
	b.WriteString("\n")
	return nil
}

// sent says how many requests the real sidecars got, and whether they ended as decided.
func (r *Report) sent(s terminal.Style) string {
	requests, wrong := 0, 0
	for _, o := range r.Observed {
		requests += o.Requests
		if !o.AsDecided() {
			wrong++
		}
	}
	text := terminal.Count(requests, "request", "requests") + " sent through " +
		terminal.Count(len(r.Observed), "real sidecar", "real sidecars")
	if wrong == 0 {
		return s.Green("=") + " " + text + " ended as decided"
	}
	return s.Red("≠") + " " + text + "; " + terminal.Count(wrong, "sidecar", "sidecars") + " did not do as decided"
}
