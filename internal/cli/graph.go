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
	var mesh, focus string
	var depth int
	var output *format
	c := &cobra.Command{
		Use:     "graph",
		Short:   "Draw the mesh: which workloads can reach which services, and where services route",
		Example: "  anymesh graph\n  anymesh graph -f manifests/ --output svg > mesh.svg\n  anymesh graph --focus shop/cart --depth 1\n  anymesh graph --output dot | dot -Tpdf > mesh.pdf",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			state, notes, err := s.state(c.Context(), c.InOrStdin())
			if err != nil {
				return err
			}
			meshes := graph.Of(state, len(s.files) == 0)
			if mesh != "" {
				meshes = slices.DeleteFunc(meshes, func(m graph.Mesh) bool { return m.Name != mesh })
				if len(meshes) == 0 {
					return fmt.Errorf("mesh %q not found, or not served", mesh)
				}
			}
			if meshes, err = narrow(meshes, focus, depth); err != nil {
				return err
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
	c.Flags().StringVar(&focus, "focus", "",
		"name of a workload or a service: draw only what reaches it and what it reaches")
	c.Flags().IntVar(&depth, "depth", graph.Unlimited,
		"maximum number of calls from the focus, or from the nodes that nothing calls; no limit if negative")
	s.completeMeshes(c, "mesh")
	s.completeWorkloads(c, "focus")
	return c
}

// narrow keeps the part of the meshes around the focus.
func narrow(meshes []graph.Mesh, focus string, depth int) ([]graph.Mesh, error) {
	if depth < 0 {
		depth = graph.Unlimited
	}
	var out []graph.Mesh
	for _, m := range meshes {
		if focus == "" {
			out = append(out, m.Limit(depth))
		} else if part, found := m.Focus(focus, depth); found {
			out = append(out, part)
		}
	}
	if focus != "" && len(out) == 0 {
		return nil, fmt.Errorf("--focus %q: no workload and no service has this name; anymesh graph lists the names", focus)
	}
	return out, nil
}
