package docs

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"anymesh.dev/anymesh/internal/cli/lint"
	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/driver"
	"anymesh.dev/anymesh/model"
)

// examples has a file for each code: the cause as the comment, example.yaml with the finding, and fixed.yaml without
// the finding. Codes that occur only in a running mesh have output.txt instead, with an example message.
//
//go:embed findings/examples/*.txtar
var examples embed.FS

const codesNotice = notice0 + "the text is in model/codes.go and docs/findings/examples. -->\n\n"

// codesIndex generates findings.md.
func codesIndex() string {
	var b strings.Builder
	b.WriteString(codesNotice + "# Findings\n\nA finding is an error or a warning about an object. Its code is the reason of the status condition and of the event of the object.\n" +
		"An **Error** means that a part of the object is not served. A **Warning** means that a field has no effect, or that another object\n" +
		"is affected. Other objects are served in both cases.\n\n" +
		"Each code has a page with an example. `anymesh lint --explain CODE` prints the page.\n\n")
	b.WriteString("| code | severity | meaning |\n|---|---|---|\n")
	for _, c := range model.Codes {
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s |\n", c.Code, codePage(c.Code), c.Severity, c.Meaning)
	}
	return b.String()
}

// codePage returns the file of the page of a code.
func codePage(c model.Code) string { return "findings/" + string(c) + ".md" }

// example is the example of a code.
type example struct{ cause, invalid, fixed, output string }

func exampleOf(code model.Code) (example, error) {
	name := "findings/examples/" + string(code) + ".txtar"
	text, err := examples.ReadFile(name)
	if err != nil {
		return example{}, fmt.Errorf("every code needs an example: %w", err)
	}
	archive := txtar.Parse(text)
	e := example{cause: strings.TrimSpace(string(archive.Comment))}
	for _, f := range archive.Files {
		switch f.Name {
		case "example.yaml":
			e.invalid = string(f.Data)
		case "fixed.yaml":
			e.fixed = string(f.Data)
		case "output.txt":
			e.output = string(f.Data)
		}
	}
	if e.output != "" {
		return e, nil
	}
	if e.output, err = lintOutput(code, e.invalid); err == nil && e.output == "" {
		err = fmt.Errorf("%s: the example has no finding", name)
	}
	return e, err
}

// lintOutput returns the findings with a code that lint prints for a file.
func lintOutput(code model.Code, text string) (string, error) {
	files, err := manifest.Read([]string{"-"}, strings.NewReader(text))
	if err != nil {
		return "", err
	}
	report, err := lint.Run(files,
		lint.Options{Namespace: "default", Driver: driver.Default, Drivers: driver.Renderers()})
	if err != nil {
		return "", err
	}
	report.Findings = slices.DeleteFunc(report.Findings, func(f lint.Located) bool { return f.Code != code })
	var b strings.Builder
	for _, f := range report.Findings {
		if f.File != "" {
			fmt.Fprintf(&b, "example.yaml:%d: ", f.Line)
		}
		b.WriteString(strings.ReplaceAll(f.String(), "Document stdin", "Document example.yaml") + "\n")
	}
	return b.String(), nil
}

// codePages generates the page of each code, by file name.
func codePages() (map[string]string, error) {
	out := map[string]string{}
	for _, c := range model.Codes {
		e, err := exampleOf(c.Code)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s# %s\n\n%s. %s\n\n## Cause\n\n%s\n\n## Example\n\n", codesNotice, c.Code, c.Severity,
			c.Meaning, e.cause)
		if e.invalid != "" {
			b.WriteString("```yaml\n" + e.invalid + "```\n\nOutput of `anymesh lint -f example.yaml`:\n\n")
		}
		b.WriteString("```\n" + e.output + "```\n\n## What to do\n\n" + c.Remedy + "\n")
		if e.fixed != "" {
			b.WriteString("\n```diff\n" + difference(e.invalid, e.fixed) + "```\n")
		}
		b.WriteString("\n[All codes](../findings.md)\n")
		out[codePage(c.Code)] = b.String()
	}
	return out, nil
}

// difference returns a diff of two texts without their common first and last lines.
func difference(before, after string) string {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var out strings.Builder
	for _, line := range a {
		out.WriteString("-" + line)
	}
	for _, line := range b {
		out.WriteString("+" + line)
	}
	return out.String()
}
