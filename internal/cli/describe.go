package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/cli/terminal"
)

// description is the description of one mesh item or object.
type description interface {
	Text(io.Writer, terminal.Style) error
}

func describeCommand() *cobra.Command {
	var s source
	var output *format
	words := nounWords()
	c := &cobra.Command{
		Use:   "describe KIND NAME | KIND/NAME",
		Short: "Describe a mesh item or object: what it can reach and what can reach it",
		Long: "Describe a mesh item or object: what it can reach, what can reach it, the fields that configure this, and its findings.\n\n" +
			"KIND is one of " + strings.Join(words, ", ") + ",\nor the kind of an object as in kubectl: " +
			strings.Join(kindWords(), ", ") + ".\n" +
			"KIND.GROUP is the kind of one API group.\n" +
			"NAME is the object name, NAMESPACE/NAME, or the name in the mesh.",
		Example: "  anymesh describe pod front-775cbc6bd8-tjqlb -n colors\n  anymesh describe workload/front -n colors\n" +
			"  anymesh describe router colors/color\n  anymesh describe service color.colors.svc.cluster.local -f manifests/",
		ValidArgsFunction: s.completeTarget,
		Args: func(_ *cobra.Command, args []string) error {
			if _, _, ok := parseTarget(args); ok {
				return nil
			}
			return exitError{
				2,
				fmt.Errorf("KIND and NAME are required; KIND is one of %s, or the kind of an object",
					strings.Join(words, ", ")),
			}
		},
		RunE: func(c *cobra.Command, args []string) error {
			w, name, _ := parseTarget(args)
			if w.route {
				d, notes, err := s.describeRoute(c.Context(), c.InOrStdin(), name)
				if err != nil {
					return err
				}
				return show(c, output, d, notes, d.Text)
			}
			state, notes, err := s.state(c.Context(), c.InOrStdin())
			if err != nil {
				return err
			}
			d, err := w.description(state, name, s.namespace)
			if err != nil {
				return err
			}
			return show(c, output, d, notes, d.Text)
		},
	}
	s.add(c)
	output = addFormat(c, "text", "json")
	return c
}
