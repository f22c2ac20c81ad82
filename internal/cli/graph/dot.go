package graph

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"anymesh.dev/anymesh/model"
)

// DOT writes meshes in the Graphviz language, one cluster per mesh.
func DOT(w io.Writer, meshes []Mesh) error {
	var b strings.Builder
	b.WriteString("digraph anymesh {\n  rankdir=LR;\n  node [fontname=\"sans-serif\", fontsize=11];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
	for i, m := range meshes {
		m = m.fold()
		id := func(node string) string { return strconv.Quote(m.Name + "/" + node) }
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s;\n", i, strconv.Quote("mesh "+m.Name))
		for _, n := range m.Nodes {
			label := n.title()
			if remarks := n.remarks(); remarks != "" {
				label += "\n" + remarks
			}
			shape := map[Kind]string{
				Service: "shape=box, style=rounded", Gateway: "shape=house", Address: "shape=note",
			}[n.Kind]
			if shape == "" {
				shape = "shape=box"
			}
			if n.severity() == model.Error {
				shape += ", color=red"
			}
			fmt.Fprintf(&b, "    %s [label=%s, %s, tooltip=%s];\n", id(n.ID), strconv.Quote(label), shape,
				strconv.Quote(n.object))
		}
		for _, e := range m.Edges {
			fmt.Fprintf(&b, "    %s -> %s", id(e.From), id(e.To))
			if label := e.Label(); label != "" {
				fmt.Fprintf(&b, " [label=%s]", strconv.Quote(label))
			}
			b.WriteString(";\n")
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}
