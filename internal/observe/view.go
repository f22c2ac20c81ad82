package observe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Result is what the sidecar of a workload did with requests.
type Result struct {
	// Requests counts the requests that were sent.
	Requests int `json:"requests"`
	// Differences describe those that do not end as the interpreter decides.
	Differences []string `json:"differences,omitempty"`
}

// View sends each request that the view of a workload tells apart through the sidecar, in this process, which Start
// began. The objects of the state have the addresses of Place.
func (s Sidecar) View(ctx context.Context, state *engine.State, workload model.Key) (Result, error) {
	view := state.Views[workload]
	if view == nil {
		return Result{}, fmt.Errorf("no workload has the key %s", workload)
	}
	dir, remove, err := caseDir()
	if err != nil {
		return Result{}, err
	}
	defer remove()
	renderer, err := rendererFor(s.Driver, sidecar.Settings{})
	if err != nil {
		return Result{}, err
	}
	m := Translation{State: state, Rendered: map[model.Key][]sidecar.Resource{}}
	m.Rendered[workload], _ = sidecar.Configuration(renderer, view.InAllTrustDomains(), state.Index.ResolvedDestination)
	lines := s.deciding(view.View, weighted(view.View, derivedLines(view.View, view.Workload.Name, nil)))
	p, d, err := enter(ctx, s, dir, m, view.View, lines)
	if err != nil {
		return Result{}, err
	}
	out := Result{Requests: len(lines)}
	for _, l := range lines {
		for _, difference := range p.observe(ctx, l) {
			out.Differences = append(out.Differences, fmt.Sprintf("%s: %s", l.request(), oneLine(difference)))
		}
	}
	for _, rejection := range d.rejected() {
		out.Differences = append(out.Differences, oneLine(rejection))
	}
	return out, nil
}

// weighted returns lines of which the first to some destinations with weights is sent often enough to show these.
func weighted(view *model.View, lines []Line) []Line {
	seen := map[string]bool{}
	for i, l := range lines {
		if d := l.decide(view); len(d.Targets) > 1 && !seen[fmt.Sprint(d.Targets)] {
			seen[fmt.Sprint(d.Targets)] = true
			lines[i].Once = false
		}
	}
	return lines
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " ") }

// Start runs this program again, with arguments that make it call View and write the result as JSON, in namespaces of
// its own. input is its standard input. It requires root.
func Start(ctx context.Context, input string, arguments []string) (Result, error) {
	if !MayRun() {
		return Result{}, errors.New("creating namespaces requires root")
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", arguments...)
	cmd.Stdin = strings.NewReader(input)
	text, err := output(cmd)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		_, said, _ := strings.Cut(err.Error(), "\n")
		return Result{}, errors.New(cmp.Or(oneLine(strings.TrimSpace(said)), err.Error()))
	}
	if err != nil {
		return Result{}, err
	}
	var out Result
	err = json.Unmarshal([]byte(text), &out)
	return out, err
}

// MayRun reports whether this process may create the namespaces of pods.
func MayRun() bool { return os.Geteuid() == 0 }
