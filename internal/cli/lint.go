package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/docs/findings"
	"anymesh.dev/anymesh/internal/build"
	"anymesh.dev/anymesh/internal/cli/lint"
	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/driver"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

func lintCommand() *cobra.Command {
	var names []string
	var code, dns string
	var output *format
	var strict bool
	o := lint.Options{}
	c := &cobra.Command{
		Use:   "lint FILE|FOLDER|- ...",
		Short: "Check manifests for errors, without a cluster",
		Long: "Check manifests for errors, without a cluster: unknown fields, schema violations, objects that admission refuses, references to\n" +
			"missing objects, and all other findings that the control plane writes to the status of objects.\n" +
			"Each finding has a code. --explain CODE shows its page, which is also in docs/findings.\n\n" +
			"Templates, Helm charts, folders of Kustomize and files without Kubernetes objects are skipped; a note lists them.\n\n" +
			"Exit codes: 0 if there are no errors, 1 if there are errors, 2 for wrong usage, or if there was no object to check.",
		Example: "  anymesh lint manifests/\n  helm template CHART | anymesh lint -\n  kubectl kustomize FOLDER | anymesh lint -\n" +
			"  anymesh lint mesh.yaml --strict --output sarif > findings.sarif\n" +
			"  anymesh lint --explain InvalidField",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if code != "" {
				return explainCode(c.OutOrStdout(), code)
			}
			names = append(names, args...)
			if len(names) == 0 {
				return exitError{2, fmt.Errorf("name a file, a folder, or - for standard input")}
			}
			o.Drivers = driver.Renderers()
			if o.Drivers[o.Driver] == nil {
				return exitError{
					2,
					fmt.Errorf("--driver %q: unknown sidecar driver; known drivers are %s", o.Driver,
						strings.Join(sidecar.Drivers(), ", ")),
				}
			}
			var err error
			if o.DNS, err = parseDNSMode(dns); err != nil {
				return err
			}
			files, err := manifest.Read(names, c.InOrStdin())
			if err != nil {
				return exitError{2, err}
			}
			report, err := lint.Run(files, o)
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			switch output.name {
			case "json":
				err = terminal.JSON(out, report)
			case "sarif":
				err = terminal.JSON(out, report.SARIF(build.Version))
			default:
				err = report.Text(out, terminal.StyleFor(out))
			}
			if err == nil && (report.Count(model.Error) > 0 || strict && report.Count(model.Warning) > 0) {
				return exitError{code: 1}
			}
			if err == nil && report.Read == 0 && len(report.Findings) == 0 {
				return exitError{2, fmt.Errorf("no object was checked")}
			}
			return err
		},
	}
	c.Flags().StringArrayVarP(&names, "filename", "f", nil,
		"file or folder with manifests, or - for standard input; may be repeated; the same as an argument")
	output = addFormat(c, "text", "json", "sarif")
	c.Flags().StringVar(&code, "explain", "", "show the page of a finding code: meaning, example and remedy")
	c.Flags().BoolVar(&strict, "strict", false, "treat warnings as errors")
	c.Flags().StringVarP(&o.Namespace, "namespace", "n", "default", "namespace of objects without metadata.namespace")
	c.Flags().StringVar(&o.Driver, "driver", driver.Default, "default sidecar driver, for pods without the annotation anymesh.dev/sidecarClass (osm.sidecarClass of the Helm values)")
	addDNS(c, &dns, model.DNSUnresolved, "")
	completeCodes(c, "explain")
	completeDrivers(c, "driver")
	return c
}

// noArguments is cobra.NoArgs with exit code 2.
func noArguments(c *cobra.Command, args []string) error {
	if err := cobra.NoArgs(c, args); err != nil {
		return exitError{2, fmt.Errorf("%w\n\n%s", err, c.UsageString())}
	}
	return nil
}

// explainCode writes the page of a finding code.
func explainCode(to io.Writer, code string) error {
	page, known := findings.Page(code)
	if !known {
		return exitError{
			2, fmt.Errorf("--explain %q: unknown code; known codes are %s", code, strings.Join(findings.Codes(), ", ")),
		}
	}
	_, err := io.WriteString(to, page)
	return err
}
