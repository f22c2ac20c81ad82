package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/cli/explain"
	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

func explainCommand() *cobra.Command {
	var s source
	var from, into string
	var output *format
	var headers []string
	c := &cobra.Command{
		Use:   "explain [--from WORKLOAD | --into WORKLOAD] [METHOD] URL",
		Short: "Show how a request is routed, step by step, with the field behind each step",
		Long: "Show how a request is routed, step by step, with the object and field behind each step. --from explains a request that the\n" +
			"application of a workload sends. --into explains a request that a workload or a gateway receives. Without either, the request\n" +
			"comes from outside, through the gateway that serves the host.\n\n" +
			"WORKLOAD is NAMESPACE/NAME of the object, the name in the mesh, or pod/NAME. URL schemes are http, http2, grpc, https and tcp.\n\n" +
			"Exit codes: 0 if the request reaches a destination, 1 if it does not, 2 for wrong usage.",
		Example: "  anymesh explain --from colors/front http://color.colors.svc.cluster.local:8080/\n" +
			"  anymesh explain --from pod/front-x2x -n colors POST http://color:8080/paint -H 'version: 2'\n" +
			"  anymesh explain -f manifests/ --from colors/front tcp://store:9000\n" +
			"  anymesh explain -f manifests/ --into colors/edge https://www.example.com/paint\n" +
			"  anymesh explain -f manifests/ https://shop.example.com/cart",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return exitError{2, fmt.Errorf("expected [METHOD] URL\n\n%s", c.UsageString())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if from != "" && into != "" {
				return exitError{2, errors.New("--from (the workload that sends the request) and --into (the workload that receives it) exclude each other")}
			}
			method := ""
			if len(args) == 2 {
				method = strings.ToUpper(args[0])
			}
			request, err := explain.ParseRequest(method, args[len(args)-1], headers, from == "")
			if err != nil {
				return exitError{2, err}
			}
			state, notes, err := s.state(c.Context(), c.InOrStdin())
			if err != nil {
				return err
			}
			a, err := answer(state, request, from, into, s.namespace)
			if err != nil {
				return exitError{2, err}
			}
			if err := show(c, output, a, notes, a.Text); err != nil {
				return err
			}
			if !a.Delivered() {
				return exitError{code: 1}
			}
			return nil
		},
	}
	s.add(c)
	c.Flags().StringVar(&from, "from", "", "workload that sends the request")
	c.Flags().StringVar(&into, "into", "", "workload that receives the request")
	s.completeWorkloads(c, "from")
	s.completeWorkloads(c, "into")
	c.Flags().StringArrayVarP(&headers, "header", "H", nil, "request header as 'name: value'; may be repeated")
	output = addFormat(c, "text", "json")
	return c
}

// answer explains a request that a workload sends or receives, or that comes from outside.
func answer(state *engine.State, request explain.Request, from, into, namespace string) (explain.Result, error) {
	if from+into == "" {
		return explain.FromOutside(state, request)
	}
	workload, err := lookup.FindWorkload(state, from+into, namespace)
	switch {
	case err != nil:
		return explain.Result{}, err
	case into != "":
		return explain.Into(state, workload, request), nil
	case workload.Role == model.RoleGateway:
		return explain.Result{}, fmt.Errorf("%s is a gateway, which sends only the requests of its clients: use --into %s",
			workload.Origin.Object, from)
	}
	return explain.From(state, workload, request), nil
}
