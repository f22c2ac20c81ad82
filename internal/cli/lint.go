package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/docs/findings"
	"anymesh.dev/anymesh/internal/cli/lint"
	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/driver"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

func lintCommand() *cobra.Command {
	var files []string
	var output, code string
	var strict bool
	o := lint.Options{}
	c := &cobra.Command{
		Use:   "lint -f FILE|FOLDER|- ...",
		Short: "Say what is wrong with manifests, without a cluster",
		Long: "Say what is wrong with manifests, without a cluster: unknown fields, broken schemas, what admission refuses, references that lead\n" +
			"nowhere, and whatever else would show in the status of the objects. Each finding has a code; --explain CODE shows its page, which\n" +
			"is in docs/findings too.\n\n" +
			"Exit code 0 means that there are no errors, 1 that there are, 2 that the command was used wrongly.",
		Example: "  anymesh lint -f manifests/\n  helm template . | anymesh lint -f -\n  anymesh lint -f mesh.yaml --strict --output sarif > findings.sarif\n" +
			"  anymesh lint --explain InvalidField",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := terminal.CheckFormat(output, "text", "json", "sarif"); err != nil {
				return exitError{2, err}
			}
			if code != "" {
				page, known := findings.Page(code)
				if !known {
					return exitError{2, fmt.Errorf("--explain %q: there is no such code; there are %s", code, strings.Join(findings.Codes(), ", "))}
				}
				_, err := io.WriteString(c.OutOrStdout(), page)
				return err
			}
			if len(files) == 0 {
				return exitError{2, fmt.Errorf("say what to read: -f FILE, -f FOLDER or -f - for standard input")}
			}
			o.Drivers = driver.Renderers()
			if o.Drivers[o.Driver] == nil {
				return exitError{2, fmt.Errorf("--driver %q: there is none of this name; there are %s", o.Driver, strings.Join(sidecar.Drivers(), ", "))}
			}
			documents, faults, err := manifest.Read(files, c.InOrStdin())
			if err != nil {
				return exitError{2, err}
			}
			report, err := lint.Run(documents, faults, o)
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			switch output {
			case "json":
				err = terminal.JSON(out, report)
			case "sarif":
				err = terminal.JSON(out, report.SARIF(Version))
			default:
				err = report.Text(out, terminal.StyleFor(out))
			}
			if err == nil && (report.Count(model.Error) > 0 || strict && report.Count(model.Warning) > 0) {
				return exitError{code: 1}
			}
			return err
		},
	}
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, "file or folder with manifests, or - for standard input; may be repeated")
	c.Flags().StringVarP(&output, "output", "o", "text", "text, json or sarif")
	c.Flags().StringVar(&code, "explain", "", "show the page of a finding's code: cause, example, and what to do")
	c.Flags().BoolVar(&strict, "strict", false, "take warnings for errors")
	c.Flags().StringVarP(&o.Namespace, "namespace", "n", "default", "namespace of objects that do not name one")
	c.Flags().StringVar(&o.Driver, "driver", driver.Default, usualDriver)
	return c
}

// usualDriver says what --driver is for.
const usualDriver = "sidecar driver of pods for which neither they nor their namespace name one: osm.sidecarClass of the mesh"

// noArguments is cobra.NoArgs with the exit code of wrong usage.
func noArguments(c *cobra.Command, args []string) error {
	if err := cobra.NoArgs(c, args); err != nil {
		return exitError{2, fmt.Errorf("%w\n\n%s", err, c.UsageString())}
	}
	return nil
}
