package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"anymesh.dev/anymesh/sandbox/internal/lab"
	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// progress prints the startup: one updated line on a terminal, otherwise one line per step.
type progress struct {
	w        io.Writer
	live     bool
	clusters []string
	done     map[string][]string
}

func newProgress(f *os.File, l plan.Lab) *progress {
	p := &progress{w: f, live: term.IsTerminal(int(f.Fd())), done: map[string][]string{}}
	for _, c := range l.Clusters {
		p.clusters = append(p.clusters, c.Name)
	}
	return p
}

func (p *progress) event(e lab.Event) {
	if e.Cluster == "" {
		return
	}
	p.done[e.Cluster] = append(p.done[e.Cluster], e.Step)
	if !p.live {
		fmt.Fprintf(p.w, "%5.1fs  %s: %s\n", e.After, e.Cluster, e.Step)
		return
	}
	fmt.Fprintf(p.w, "\r\033[K%s", p.line(e.After))
}

func (p *progress) line(after float64) string {
	var parts []string
	for _, c := range p.clusters {
		var steps []string
		for _, s := range lab.Steps {
			mark := "…"
			if slices.Contains(p.done[c], s) {
				mark = "✓"
			}
			steps = append(steps, s+" "+mark)
		}
		if len(p.done[c]) == len(lab.Steps) {
			steps = []string{"ready ✓"}
		}
		parts = append(parts, c+": "+strings.Join(steps, ", "))
	}
	return fmt.Sprintf("%5.1fs  %s", after, strings.Join(parts, " | "))
}

func (p *progress) end() {
	if p.live && len(p.done) > 0 {
		fmt.Fprintln(p.w)
	}
}
