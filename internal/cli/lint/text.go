package lint

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"anymesh.dev/anymesh/docs/findings"
	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/model"
)

// Text writes a report as text: one line per finding in FILE:LINE format, and a summary.
func (r *Report) Text(w io.Writer, s terminal.Style) error {
	var b strings.Builder
	kinds := r.kinds()
	for _, f := range r.Findings {
		if f.File != "" {
			b.WriteString(s.Bold(fmt.Sprintf("%s:%d:", f.File, f.Line)) + " ")
		}
		fmt.Fprintf(&b, "%s %s %s", s.Severity(string(f.Severity)), s.Link(findings.URL(string(f.Code)), string(f.Code)), s.Cyan(kinds.Object(f.Object)))
		if f.Path != "" {
			b.WriteString(" " + s.Dim(f.Path))
		}
		b.WriteString(": " + f.Text + "\n")
	}
	skipped := manifest.Notes(r.Skips)
	for _, a := range slices.Concat(r.Assumptions, skipped) {
		b.WriteString(s.Dim("note: "+a) + "\n")
	}
	if len(r.Findings) > 0 {
		b.WriteString(s.Dim("note: anymesh lint --explain CODE explains a code") + "\n")
	}
	if len(r.Findings)+len(r.Assumptions)+len(skipped) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(r.summary(s) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) summary(s terminal.Style) string {
	text := terminal.Count(r.Read, "object", "objects") + " read"
	if len(r.Skipped) > 0 {
		total, kinds := 0, []string{}
		for _, kind := range slices.Sorted(maps.Keys(r.Skipped)) {
			total += r.Skipped[kind]
			kinds = append(kinds, fmt.Sprintf("%d %s", r.Skipped[kind], kind))
		}
		text += fmt.Sprintf(", %d skipped (%s)", total, strings.Join(kinds, ", "))
	}
	errors, warnings := r.Count(model.Error), r.Count(model.Warning)
	switch {
	case errors > 0:
		return text + ": " + s.Red(terminal.Count(errors, "error", "errors")) + ", " + terminal.Count(warnings,
			"warning", "warnings")
	case r.Read == 0 && len(r.Findings) == 0:
		return text + ": " + s.Yellow("nothing to check")
	case warnings > 0:
		return text + ": " + s.Yellow(terminal.Count(warnings, "warning", "warnings"))
	}
	return text + ": " + s.Green("no findings")
}
