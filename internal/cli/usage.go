package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// strict makes arguments that a command does not take wrong usage, like flags that it does not have, for the command and its verbs.
func strict(root *cobra.Command) {
	root.Args = cobra.ArbitraryArgs // else cobra judges them itself
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
		if judge := verb.Args; judge != nil {
			verb.Args = func(c *cobra.Command, arguments []string) error {
				if err := judge(c, arguments); err != nil {
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
