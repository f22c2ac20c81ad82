package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/cli/terminal"
)

// show prints a result as text or JSON to standard output, and notes to standard error.
func show(c *cobra.Command, output *format, result any, notes []string,
	text func(io.Writer, terminal.Style) error) error {
	printNotes(c, notes)
	if output.isJSON() {
		return terminal.JSON(c.OutOrStdout(), result)
	}
	return text(c.OutOrStdout(), terminal.StyleFor(c.OutOrStdout()))
}

// printNotes prints notes to standard error.
func printNotes(c *cobra.Command, notes []string) {
	style := terminal.StyleFor(c.ErrOrStderr())
	for _, note := range notes {
		_, _ = fmt.Fprintln(c.ErrOrStderr(), style.Dim("note: "+note))
	}
}
