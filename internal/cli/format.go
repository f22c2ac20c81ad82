package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// format is the value of the flag --output: one of the formats of a command. The first is the default.
type format struct {
	name    string
	formats []string
}

// addFormat adds the flag --output to a command.
func addFormat(c *cobra.Command, formats ...string) *format {
	f := &format{formats[0], formats}
	last := len(formats) - 1
	c.Flags().VarP(f, "output", "o", strings.Join(formats[:last], ", ")+" or "+formats[last])
	complete(c, "output", formats...)
	return f
}

// Set implements pflag.Value.
func (f *format) Set(name string) error {
	if !slices.Contains(f.formats, name) {
		return fmt.Errorf("use %s", strings.Join(f.formats, ", "))
	}
	f.name = name
	return nil
}

// String implements pflag.Value.
func (f *format) String() string { return f.name }

// Type implements pflag.Value.
func (f *format) Type() string { return "format" }

// isJSON reports whether the user asked for JSON.
func (f *format) isJSON() bool { return f.name == "json" }
