package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/console"
	"anymesh.dev/anymesh/internal/describe"
	"anymesh.dev/anymesh/internal/flow"
	"anymesh.dev/anymesh/internal/lookup"
)

// description is something that can be shown.
type description interface {
	Text(io.Writer, console.Style) error
}

// describers are by the word that people use. Each finds a thing by name and describes it.
var describers = map[string]func(s *flow.State, name, namespace string) (description, error){
	"pod": func(s *flow.State, name, namespace string) (description, error) {
		return describeWorkload(s, "pod/"+name, namespace)
	},
	"workload": describeWorkload,
	"service": func(s *flow.State, name, namespace string) (description, error) {
		service, err := lookup.FindService(s, name, namespace)
		if err != nil {
			return nil, err
		}
		return describe.OfService(s, service), nil
	},
	"mesh": func(s *flow.State, name, _ string) (description, error) {
		mesh, err := lookup.FindMesh(s, name)
		if err != nil {
			return nil, err
		}
		return describe.OfMesh(s, mesh), nil
	},
}

func describeWorkload(s *flow.State, name, namespace string) (description, error) {
	w, err := lookup.FindWorkload(s, name, namespace)
	if err != nil {
		return nil, err
	}
	return describe.OfWorkload(s, w), nil
}

func describeCommand() *cobra.Command {
	var s source
	var output string
	c := &cobra.Command{
		Use:   "describe pod|workload|service|mesh NAME",
		Short: "Say what something is in the mesh, what it may reach and who may reach it",
		Example: "  anymesh describe pod front-775cbc6bd8-tjqlb -n colors\n  anymesh describe workload colors/front\n" +
			"  anymesh describe service color.colors.svc.cluster.local -f manifests/",
		ValidArgs: []string{"pod", "workload", "service", "mesh"},
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 2 && describers[strings.ToLower(args[0])] != nil {
				return nil
			}
			return exitError{2, fmt.Errorf("want one of pod, workload, service, mesh, and a name\n\n%s", c.UsageString())}
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := console.CheckFormat(output, "text", "json"); err != nil {
				return exitError{2, err}
			}
			state, notes, err := s.state(c.Context(), c.InOrStdin())
			if err != nil {
				return err
			}
			d, err := describers[strings.ToLower(args[0])](state, args[1], s.namespace)
			if err != nil {
				return err
			}
			return show(c, output, d, notes, d.Text)
		},
	}
	s.add(c)
	c.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return c
}
