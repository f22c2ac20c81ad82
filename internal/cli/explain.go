package cli

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/cli/explain"
	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

func explainCommand() *cobra.Command {
	var s source
	var from, into, client, list string
	var output *format
	var headers []string
	c := &cobra.Command{
		Use:   "explain [--from WORKLOAD | --into WORKLOAD] {[METHOD] URL | --requests FILE}",
		Short: "Show how a request is routed, step by step, with the field behind each step",
		Long: "Show how a request is routed, step by step, with the object and field behind each step. --from explains a request that the\n" +
			"application of a workload sends. --into explains a request that a workload or a gateway receives. Without either, the request\n" +
			"comes from outside, through the gateway that serves the host. The port of a URL is that of the gateway's Service; without a\n" +
			"Service, 80 and 443 are the first listener that fits.\n\n" +
			"WORKLOAD is NAMESPACE/NAME of the object, the name in the mesh, or pod/NAME. A gateway receives what is sent --from it to\n" +
			"0.0.0.0 or 127.0.0.1. URL schemes are http, http2, grpc, ws, https, tcp, udp and unix.\n\n" +
			"--requests explains all requests of a file, one a line: [METHOD] URL [NAME:VALUE ...], for example to check them before and\n" +
			"after a change of manifests.\n\n" +
			"Exit codes: 0 if each request reaches a destination, 1 if one does not, 2 for wrong usage.",
		Example: "  anymesh explain --from colors/front http://color.colors.svc.cluster.local:8080/\n" +
			"  anymesh explain --from pod/front-x2x -n colors POST http://color:8080/paint -H 'version: 2'\n" +
			"  anymesh explain -f manifests/ --from colors/front tcp://store:9000\n" +
			"  anymesh explain -f manifests/ --into colors/edge https://www.example.com/paint\n" +
			"  anymesh explain -f manifests/ https://shop.example.com/cart\n" +
			"  anymesh explain -f manifests/ --from colors/front --requests requests.txt -o json",
		Args: func(c *cobra.Command, args []string) error {
			if list == "" && (len(args) < 1 || len(args) > 2) || list != "" && len(args)+len(headers) > 0 {
				return exitError{2, fmt.Errorf("expected [METHOD] URL, or --requests\n\n%s", c.UsageString())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if from != "" && into != "" {
				return exitError{2, errors.New("--from (the workload that sends the request) and --into (the workload that receives it) exclude each other")}
			}
			if list == "-" && slices.Contains(s.files, "-") {
				return exitError{2, errors.New("-f - and --requests - both read standard input: use a file for one of them")}
			}
			requests, err := readRequests(c.InOrStdin(), list, args, headers, from == "")
			if err != nil {
				return exitError{2, err}
			}
			if err := setClient(requests, client, from); err != nil {
				return exitError{2, err}
			}
			state, notes, err := s.state(c.Context(), c.InOrStdin())
			if err != nil {
				return err
			}
			var answers []explain.Result
			for _, request := range requests {
				a, err := answer(state, request, from, into, s.namespace)
				if err != nil {
					return exitError{2, err}
				}
				answers = append(answers, a)
			}
			var result any = answers
			if list == "" {
				result = answers[0]
			}
			text := func(w io.Writer, style terminal.Style) error { return writeAnswers(w, style, answers) }
			if err := show(c, output, result, notes, text); err != nil {
				return err
			}
			if slices.ContainsFunc(answers, func(a explain.Result) bool { return !a.Delivered() }) {
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
	c.Flags().StringVar(&client, "client", "", "address of the client, for routes that serve some addresses only")
	c.Flags().StringArrayVarP(&headers, "header", "H", nil, "request header as 'name: value'; may be repeated")
	c.Flags().StringVar(&list, "requests", "", "file with requests, one a line; - for standard input")
	output = addFormat(c, "text", "json")
	return c
}

// readRequests reads the requests of the file, or the one of the arguments.
func readRequests(in io.Reader, file string, args, headers []string, inbound bool) ([]explain.Request, error) {
	if file == "" {
		method := ""
		if len(args) == 2 {
			method = strings.ToUpper(args[0])
		}
		request, err := explain.ParseRequest(method, args[len(args)-1], headers, inbound)
		return []explain.Request{request}, err
	}
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("--requests: %w", err)
		}
		defer func() { _ = opened.Close() }()
		in = opened
	}
	requests, err := explain.ReadRequests(in, inbound)
	if err == nil && len(requests) == 0 {
		err = errors.New("the file has no requests")
	}
	if err != nil {
		return nil, fmt.Errorf("--requests %s: %w", file, err)
	}
	return requests, nil
}

// setClient sets the address of the client of inbound requests; empty means that it is not known.
func setClient(requests []explain.Request, client, from string) error {
	if client == "" {
		return nil
	}
	address, err := netip.ParseAddr(client)
	if err != nil {
		return fmt.Errorf("--client %q is not an IP address", client)
	}
	if from != "" {
		return errors.New("--client is for requests that a workload or a gateway receives, not for --from")
	}
	for i := range requests {
		requests[i].SetClient(address)
	}
	return nil
}

func writeAnswers(w io.Writer, style terminal.Style, answers []explain.Result) error {
	for i, a := range answers {
		if i > 0 {
			_, _ = fmt.Fprintln(w)
		}
		if err := a.Text(w, style); err != nil {
			return err
		}
	}
	return nil
}

// toItself reports whether an address is that of the pod that connects to it.
func toItself(address netip.Addr) bool { return address.IsUnspecified() || address.IsLoopback() }

// answer explains a request that a workload sends or receives, or that comes from outside.
func answer(state *engine.State, request explain.Request, from, into, namespace string) (explain.Result, error) {
	if from+into == "" {
		return explain.FromOutside(state, request)
	}
	workload, err := lookup.FindWorkload(state, from+into, namespace)
	if err != nil && from != "" {
		if result, is := explain.FromOutsider(state, request, from, namespace); is {
			return result, nil
		}
	}
	switch {
	case err != nil:
		return explain.Result{}, err
	case into != "", workload.Role == model.RoleGateway && (toItself(request.Address) || request.Socket != ""):
		return explain.Into(state, workload, request), nil
	case workload.Role == model.RoleGateway:
		return explain.Result{}, fmt.Errorf("%s is a gateway, which sends only the requests of its clients: use --into %s",
			dialect.KindNamesOfObjects(state.Objects).Object(workload.Origin.Object()), from)
	}
	if request.Socket != "" {
		return explain.Result{}, fmt.Errorf("the sidecar of %s has no part in connections to unix sockets", from)
	}
	return explain.From(state, workload, request), nil
}
