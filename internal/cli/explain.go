package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/cli/explain"
	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/terminal"
)

func explainCommand() *cobra.Command {
	var s source
	var from, into, output string
	var headers []string
	c := &cobra.Command{
		Use:   "explain --from WORKLOAD [METHOD] URL",
		Short: "Say what becomes of a request, step by step, and which field makes it so",
		Long: "Say what becomes of a request that a workload makes (--from), or that arrives at one (--into), step by step, with the object and\n" +
			"field behind each. A workload is NAMESPACE/NAME of its object, its name in the mesh, or pod/NAME. URLs are http://, http2://, grpc://,\n" +
			"https:// or tcp://.\n\n" +
			"Exit code 0 means that the request gets somewhere, 1 that it does not, 2 that the command was used wrongly.",
		Example: "  anymesh explain --from colors/front http://color.colors.svc.cluster.local:8080/\n" +
			"  anymesh explain --from pod/front-x2x -n colors POST http://color:8080/paint -H 'version: 2'\n" +
			"  anymesh explain -f manifests/ --from colors/front tcp://store:9000",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return exitError{2, fmt.Errorf("want [METHOD] URL\n\n%s", c.UsageString())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := terminal.CheckFormat(output, "text", "json"); err != nil {
				return exitError{2, err}
			}
			if (from == "") == (into == "") {
				return exitError{2, errors.New("say who makes the request with --from, or at whom it arrives with --into")}
			}
			method := ""
			if len(args) == 2 {
				method = strings.ToUpper(args[0])
			}
			request, err := explain.ParseRequest(method, args[len(args)-1], headers)
			if err != nil {
				return exitError{2, err}
			}
			state, notes, err := s.state(c.Context(), c.InOrStdin())
			if err != nil {
				return err
			}
			workload, err := lookup.FindWorkload(state, from+into, s.namespace)
			if err != nil {
				return exitError{2, err}
			}
			answer := explain.From
			if into != "" {
				answer = explain.Into
			}
			a := answer(state, workload, request)
			if err := show(c, output, a, notes, a.Text); err != nil {
				return err
			}
			if !a.Gets() {
				return exitError{code: 1}
			}
			return nil
		},
	}
	s.add(c)
	c.Flags().StringVar(&from, "from", "", "the workload whose application makes the request")
	c.Flags().StringVar(&into, "into", "", "the workload at which the request arrives")
	c.Flags().StringArrayVarP(&headers, "header", "H", nil, "header of the request: 'name: value'; may be repeated")
	c.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return c
}
