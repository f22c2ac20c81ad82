package check

import (
	"fmt"
	"strings"

	"anymesh.dev/anymesh/internal/dialect"
)

// Page gives the documentation of all checks.
func Page(dialects []dialect.Dialect) string {
	var b strings.Builder
	b.WriteString("# Checks\n\n`anymesh check --pre` looks whether Anymesh can be installed, `anymesh check` whether it is well. Exit code 1 means that a check failed;\n" +
		"warnings do not count. `--output json` is for programs.\n\n| code | what is well | when |\n|---|---|---|\n")
	checks := Checks(dialects)
	for _, c := range checks {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", c.Code, anchor(c.Code), c.Title, c.Stage)
	}
	for _, c := range checks {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n**What to do.** %s\n", c.Code, c.Meaning, c.Remedy)
	}
	return b.String()
}
