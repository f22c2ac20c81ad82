package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// strict makes unknown commands, arguments and flags exit with code 2.
func strict(root *cobra.Command) {
	root.Args = cobra.ArbitraryArgs // otherwise cobra reports unknown commands with exit code 1
	root.RunE = func(c *cobra.Command, arguments []string) error {
		if len(arguments) == 0 {
			return c.Help()
		}
		text := fmt.Sprintf("unknown command %q; see %s --help", arguments[0], c.CommandPath())
		if near := c.SuggestionsFor(arguments[0]); len(near) > 0 {
			text += ". Did you mean " + strings.Join(near, " or ") + "?"
		}
		return exitError{2, fmt.Errorf("%s", text)}
	}
	for _, verb := range root.Commands() {
		if validate := verb.Args; validate != nil {
			verb.Args = func(c *cobra.Command, arguments []string) error {
				if err := validate(c, arguments); err != nil {
					return exitError{2, fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
				}
				return nil
			}
		}
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return exitError{2, fmt.Errorf("%w\n\n%s", err, c.UsageString())}
	})
}
