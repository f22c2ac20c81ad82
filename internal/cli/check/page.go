package check

import (
	"fmt"
	"strings"

	"anymesh.dev/anymesh/internal/dialect"
)

// Page generates docs/check.md.
func Page(dialects []dialect.Dialect) string {
	var b strings.Builder
	b.WriteString("# Checks\n\n`anymesh check --pre` checks whether Anymesh can be installed. `anymesh check` checks an installation. The exit code is 1 if a check\n" +
		"fails; warnings do not change it. `--output json` prints the results as JSON.\n\n| code | condition | runs |\n|---|---|---|\n")
	checks := Checks(dialects)
	for _, c := range checks {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", c.Code, anchor(c.Code), c.Title, c.Stage)
	}
	for _, c := range checks {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n**What to do.** %s\n", c.Code, c.Meaning, c.Remedy)
	}
	return b.String()
}
