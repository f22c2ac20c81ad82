package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/cli"
	"anymesh.dev/anymesh/internal/cli/describe"
	"anymesh.dev/anymesh/internal/cli/explain"
	"anymesh.dev/anymesh/internal/cli/lint"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/test/transcript"
)

// Each folder in testdata/osm and testdata/outside has a situation of users, of Open Service Mesh and of other APIs:
// manifests as they are, and in answers.txt commands with the right answers, written by hand. An answer is
//
//	lint      the warnings and errors, or "no findings"
//	explain   PROTOCOL DESTINATION [SHARE] [→ WORKLOAD] [: FAILURE] of each destination, or the outcome. More lines are
//	          "says TEXT", "does not say TEXT", "finds SEVERITY CODE OBJECT PATH" and "has no limit of time"
//	describe  "a sidecar", or "no sidecar" and why; of a Route, why it is not served, or "no error"
func TestSituations(t *testing.T) {
	var folders []string
	for _, of := range []string{"testdata/osm/*", "testdata/outside/*"} {
		more, err := filepath.Glob(of)
		if err != nil || len(more) == 0 {
			t.Fatal("no folders in "+of, err)
		}
		folders = append(folders, more...)
	}
	answer := map[string]func(*testing.T, string, []string) []string{
		"lint": lintAnswer, "explain": explainAnswer, "describe": describeAnswer,
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Chdir(folder)
			for _, s := range situation(t) {
				verb, _, _ := strings.Cut(s.command, " ")
				if got := answer[verb](t, s.command, s.want); !slices.Equal(got, s.want) {
					t.Errorf("anymesh %s: got\n\t%s\nwant\n\t%s", s.command, strings.Join(got, "\n\t"),
						strings.Join(s.want, "\n\t"))
				}
			}
		})
	}
}

// answered is a command with its right answer.
type answered struct {
	command string
	want    []string
}

// situation reads the answers of the working directory. Each folder of manifests has one of lint.
func situation(t *testing.T) []answered {
	t.Helper()
	text, err := os.ReadFile("answers.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []answered
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch answer, is := strings.CutPrefix(line, "  "); {
		case line == "", strings.HasPrefix(line, "#"):
		case is:
			last := &all[len(all)-1]
			last.want = append(last.want, answer)
		default:
			all = append(all, answered{command: line})
		}
	}
	folders, err := filepath.Glob("input*")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !slices.ContainsFunc(all, func(a answered) bool { return a.command == "lint "+folder }) {
			t.Errorf("no answer of lint %s", folder)
		}
	}
	return all
}

func lintAnswer(t *testing.T, command string, _ []string) []string {
	t.Helper()
	var report lint.Report
	decode(t, command, &report)
	var out []string
	for _, f := range report.Findings {
		if f.Severity != model.Info {
			out = append(out, located(f.Finding))
		}
	}
	if len(out) == 0 {
		return []string{"no findings"}
	}
	slices.Sort(out)
	return out
}

// located returns a finding without its text.
func located(f model.Finding) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", f.Severity, f.Code, f.Object, f.Path))
}

// explainAnswer returns the outcome, and the wanted lines that apply.
func explainAnswer(t *testing.T, command string, want []string) []string {
	t.Helper()
	var got explain.Result
	decode(t, command, &got)
	steps := got.Decision.Steps
	for _, target := range got.Targets {
		for _, receiver := range target.Receivers {
			if receiver.InboundDecision != nil {
				steps = slices.Concat(steps, receiver.InboundDecision.Steps)
			}
		}
	}
	says := func(text string) bool {
		return slices.ContainsFunc(steps, func(s model.Step) bool { return strings.Contains(s.Text, text) })
	}
	finds := func(text string) bool {
		return slices.ContainsFunc(got.Findings, func(f model.Finding) bool { return located(f) == text })
	}
	out := []string{outcome(got)}
	for _, line := range want[min(1, len(want)):] {
		text, positive := strings.CutPrefix(line, "says ")
		absent, negative := strings.CutPrefix(line, "does not say ")
		finding, found := strings.CutPrefix(line, "finds ")
		limits := got.Decision.Timeouts
		if positive && says(text) || negative && !says(absent) || found && finds(finding) ||
			line == "has no limit of time" && limits.Request == 0 && limits.Idle == 0 {
			out = append(out, line)
		}
	}
	return out
}

// outcome describes who gets a request, and what the client gets otherwise.
func outcome(a explain.Result) string {
	switch {
	case a.Failure != nil:
		return a.Failure.String()
	case len(a.Targets) == 0:
		return string(a.Decision.Outcome)
	}
	var all []string
	for _, target := range a.Targets {
		text := fmt.Sprintf("%s %s", target.Protocol, target.Destination)
		if target.Share < 1 {
			text += fmt.Sprintf(" %.3g%%", 100*target.Share)
		}
		var receivers []string
		for _, r := range target.Receivers {
			if r.Failure != nil {
				receivers = append(receivers, r.Workload.Name+": "+r.Failure.String())
			} else if r.Workload.Name != "" {
				receivers = append(receivers, r.Workload.Name)
			}
		}
		if len(receivers) > 0 {
			text += " → " + strings.Join(receivers, ", ")
		}
		if target.Failure != nil {
			text += ": " + target.Failure.String()
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// describeAnswer reports whether a workload has a pod with a sidecar, else why not, and of a Route why it is not
// served. A workload that is not known has no sidecar.
func describeAnswer(t *testing.T, command string, _ []string) []string {
	t.Helper()
	if strings.Contains(command, "route/") {
		var route struct{ Failure *struct{ Reason string } }
		if decode(t, command, &route); route.Failure != nil {
			return []string{route.Failure.Reason}
		}
		return []string{"no error"}
	}
	code, out, _ := run(t, command)
	switch {
	case code != 0:
		return []string{"no sidecar"}
	case bytes.Contains(out, []byte("\napplication with a sidecar")):
		return []string{"a sidecar"}
	}
	var workload struct{ WithoutSidecar []describe.BarePod }
	decode(t, command, &workload)
	answer := []string{"no sidecar"}
	for _, b := range workload.WithoutSidecar {
		answer = append(answer, b.Reason)
	}
	return answer
}

// decode decodes the JSON output of a command.
func decode(t *testing.T, command string, into any) {
	t.Helper()
	_, out, errOut := run(t, command+" -o json")
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("anymesh %s: %v: %s%s", command, err, out, errOut)
	}
}

// run runs a command.
func run(t *testing.T, command string) (code int, out []byte, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = cli.Run(t.Context(), transcript.Arguments(command), strings.NewReader(""), &o, &e)
	return code, o.Bytes(), e.String()
}
