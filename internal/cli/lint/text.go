package lint

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/model"
)

// Text writes a report for people: a line a finding, which editors can follow, and a sum at the end.
func (r *Report) Text(w io.Writer, s terminal.Style) error {
	var b strings.Builder
	for _, f := range r.Findings {
		if f.File != "" {
			b.WriteString(s.Bold(fmt.Sprintf("%s:%d:", f.File, f.Line)) + " ")
		}
		fmt.Fprintf(&b, "%s %s %s", s.Severity(string(f.Severity)), f.Code, s.Cyan(f.Object.String()))
		if f.Path != "" {
			b.WriteString(" " + s.Dim(f.Path))
		}
		b.WriteString(": " + f.Text + "\n")
	}
	for _, a := range r.Assumptions {
		b.WriteString(s.Dim("note: "+a) + "\n")
	}
	if len(r.Findings) > 0 {
		b.WriteString(s.Dim("note: anymesh lint --explain CODE says what to do") + "\n")
	}
	if len(r.Findings)+len(r.Assumptions) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(r.sum(s) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) sum(s terminal.Style) string {
	text := terminal.Count(r.Read, "object", "objects") + " read"
	if len(r.Passed) > 0 {
		total, kinds := 0, []string{}
		for _, kind := range slices.Sorted(maps.Keys(r.Passed)) {
			total += r.Passed[kind]
			kinds = append(kinds, fmt.Sprintf("%d %s", r.Passed[kind], kind))
		}
		text += fmt.Sprintf(", %d passed over (%s)", total, strings.Join(kinds, ", "))
	}
	errors, warnings := r.Count(model.Error), r.Count(model.Warning)
	switch {
	case errors > 0:
		return text + ": " + s.Red(terminal.Count(errors, "error", "errors")) + ", " + terminal.Count(warnings, "warning", "warnings")
	case warnings > 0:
		return text + ": " + s.Yellow(terminal.Count(warnings, "warning", "warnings"))
	}
	return text + ": " + s.Green("nothing is wrong")
}
