package graph

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// Sizes of the legend, in pixels.
const (
	legendHeight             = 34.0
	sampleWidth, sampleGap   = 26.0, 8.0
	sampleHeight, entryGap   = 14.0, 26.0
	legendTop, legendTextTop = 10.0, 21.0
)

// entry explains a sort of node. In classes, sorts have the same names as in the style.
type entry struct {
	class, text string
	round       bool
	has         func(Node) bool
}

var entries = []entry{
	{"gateway", "gateway", false, func(n Node) bool { return n.Kind == Gateway }},
	{"workload", "workload", false, func(n Node) bool { return n.Kind == Workload && n.service == nil }},
	{"service", "service", true, func(n Node) bool { return n.Kind == Service }},
	{"workload folded", "service with one workload", true, func(n Node) bool { return n.service != nil }},
	{"address", "address outside the mesh", false, func(n Node) bool { return n.Kind == Address }},
	{"workload Error", "has errors", false, func(n Node) bool { return n.severity() == model.Error }},
	{"workload Warning", "has warnings", false, func(n Node) bool { return n.severity() == model.Warning }},
	{"workload down", "no pod is ready", false, Node.down},
}

// down reports whether no pod of a workload is ready.
func (n Node) down() bool { return n.Pods != nil && n.Pods.Ready == 0 }

// legend explains the sorts of nodes that the meshes have, and the text of arrows. It returns its width; its height is
// legendHeight.
func legend(b *strings.Builder, meshes []Mesh, top float64) float64 {
	x := margin
	text := func(t string) {
		fmt.Fprintf(b, "<text class=\"sub\" x=\"%.0f\" y=\"%.1f\">%s</text>\n", x, top+legendTextTop, html.EscapeString(t))
		x += letters(t, subLetter) + entryGap
	}
	for _, e := range entries {
		if !slices.ContainsFunc(meshes, func(m Mesh) bool { return slices.ContainsFunc(m.Nodes, e.has) }) {
			continue
		}
		corner := 3.0
		if e.round {
			corner = sampleHeight / 2
		}
		fmt.Fprintf(b, "<rect class=\"node %s\" x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" rx=\"%.0f\"/>\n",
			e.class, x, top+legendTop, sampleWidth, sampleHeight, corner)
		x += sampleWidth + sampleGap
		text(e.text)
	}
	if slices.ContainsFunc(meshes, func(m Mesh) bool {
		return slices.ContainsFunc(m.Edges, func(e Edge) bool { return strings.Contains(e.Label(), "%") })
	}) {
		text("% on an arrow: share of the requests of a route")
	}
	return x
}
