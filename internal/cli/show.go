package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/cli/terminal"
)

// show writes an answer in the format that was asked for. Notes go where they are in nobody's way.
func show(c *cobra.Command, output string, answer any, notes []string, text func(io.Writer, terminal.Style) error) error {
	tell(c, notes)
	if output == "json" {
		return terminal.JSON(c.OutOrStdout(), answer)
	}
	return text(c.OutOrStdout(), terminal.StyleFor(c.OutOrStdout()))
}

func tell(c *cobra.Command, notes []string) {
	style := terminal.StyleFor(c.ErrOrStderr())
	for _, note := range notes {
		_, _ = fmt.Fprintln(c.ErrOrStderr(), style.Dim("note: "+note))
	}
}
