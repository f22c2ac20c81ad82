package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/internal/cli/graph"
	"anymesh.dev/anymesh/internal/cli/terminal"
)

func graphCommand() *cobra.Command {
	var s source
	var mesh string
	var output *format
	c := &cobra.Command{
		Use:     "graph",
		Short:   "Draw the mesh: which workloads can reach which services, and where services route",
		Example: "  anymesh graph\n  anymesh graph -f manifests/ --output svg > mesh.svg\n  anymesh graph --output dot | dot -Tpdf > mesh.pdf",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			state, notes, err := s.state(c.Context(), c.InOrStdin())
			if err != nil {
				return err
			}
			meshes := graph.Of(state)
			if mesh != "" {
				meshes = slices.DeleteFunc(meshes, func(m graph.Mesh) bool { return m.Name != mesh })
				if len(meshes) == 0 {
					return fmt.Errorf("mesh %q not found, or not served", mesh)
				}
			}
			out := c.OutOrStdout()
			printNotes(c, notes)
			switch output.name {
			case "dot":
				return graph.DOT(out, meshes)
			case "svg":
				return graph.SVG(out, meshes)
			case "json":
				return terminal.JSON(out, meshes)
			}
			return graph.Text(out, terminal.StyleFor(out), meshes)
		},
	}
	s.add(c)
	output = addFormat(c, "text", "dot", "svg", "json")
	c.Flags().StringVar(&mesh, "mesh", "", "name of the only mesh to draw")
	s.completeMeshes(c, "mesh")
	return c
}
