package graph

import (
	"fmt"
	"html"
	"io"
	"strings"
	"unicode/utf8"

	"anymesh.dev/anymesh/model"
)

// Sizes in pixels. The letter widths are slightly above those of common fonts.
const (
	margin, titleHeight   = 28.0, 44.0
	padding               = 14.0
	nameLetter, subLetter = 7.3, 6.3
)

// style has colors for light and dark mode.
const style = `
  .paper { fill: #ffffff }
  text { font-family: ui-sans-serif, system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1b2430 }
  .title { font-size: 17px; font-weight: 600 }
  .remark { font-size: 12px; font-weight: 400; fill: #66707d }
  .name { font-size: 12.5px; font-weight: 600 }
  .sub { font-size: 11px; fill: #66707d }
  .label { font-size: 11px; font-weight: 600; paint-order: stroke; stroke: #ffffff;
           stroke-width: 5px; stroke-linejoin: round }
  .node { stroke-width: 1.4px }
  .workload { fill: #eaf2ff; stroke: #4a7bd0 }
  .gateway { fill: #efeaff; stroke: #7a5bd0 }
  .service { fill: #fff5df; stroke: #cf9420 }
  .address { fill: #eef0f2; stroke: #8a94a0 }
  .folded { fill: #fff5df; stroke: #4a7bd0 }
  .down { fill: #ffdede }
  .Error { stroke: #d33030; stroke-width: 2.2px }
  .Warning { stroke-dasharray: 5 3 }
  .edge { fill: none; stroke: #9aa6b4; stroke-width: 1.5px }
  .tip { fill: #9aa6b4 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #14181e } text { fill: #e4e9ef } .remark, .sub { fill: #9aa6b4 } .label { stroke: #14181e }
    .workload { fill: #1d2c47 } .gateway { fill: #2a2347 } .service { fill: #3a2f16 } .address { fill: #262b31 }
    .folded { fill: #3a2f16 } .down { fill: #4d1f1f }
  }
`

// SVG writes all meshes into one drawing, from top to bottom.
func SVG(w io.Writer, meshes []Mesh) error {
	var body strings.Builder
	width, y := 320.0, margin
	var drawn []Mesh
	for _, m := range meshes {
		m = m.fold()
		drawn = append(drawn, m)
		mw, mh := picture(&body, m, y)
		width, y = max(width, mw+2*margin), y+mh+margin
	}
	if len(meshes) == 0 {
		fmt.Fprintf(&body, "<text class=\"title\" x=\"%.0f\" y=\"%.0f\">no mesh found</text>\n", margin, y+12)
		y += titleHeight
	}
	if len(meshes) > 0 {
		width = max(width, legend(&body, drawn, y-margin/2))
		y += legendHeight
	}
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="meshes" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">
<style>%s</style>
<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 1 L9 5 L0 9 z"/></marker></defs>
<rect class="paper" width="100%%" height="100%%"/>
%s</svg>
`, width, y, width, y, style, body.String())
	return err
}

// picture draws one mesh and returns its size.
func picture(b *strings.Builder, m Mesh, top float64) (w, h float64) {
	index := map[string]int{}
	for n, node := range m.Nodes {
		index[node.ID] = n
	}
	edges := make([][2]int, len(m.Edges))
	for n, e := range m.Edges {
		edges[n] = [2]int{index[e.From], index[e.To]}
	}
	g := layer(len(m.Nodes), edges)
	w, h = g.layout(func(n int) float64 { return m.Nodes[n].width() }, func(layer int) float64 {
		longest := 0.0
		for n, path := range g.paths {
			if path[0].layer == layer {
				longest = max(longest, letters(m.Edges[n].Label(), subLetter))
			}
		}
		return longest
	})
	fmt.Fprintf(b, "<text class=\"title\" x=\"%.0f\" y=\"%.1f\">mesh %s<tspan class=\"remark\" dx=\"12\">undeclared destinations: %s</tspan></text>\n",
		margin, top+12, html.EscapeString(m.Name), m.Egress)
	fmt.Fprintf(b, "<g transform=\"translate(%.0f %.1f)\">\n", margin, top+titleHeight)
	for n, path := range g.paths {
		edge(b, path, m.Edges[n])
	}
	for n, path := range g.paths {
		if label := m.Edges[n].Label(); label != "" {
			x, y := labelPosition(path)
			fmt.Fprintf(b, "<text class=\"label\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x, y+4,
				html.EscapeString(label))
		}
	}
	for _, l := range g.layers {
		for _, i := range l {
			if i.node >= 0 {
				m.Nodes[i.node].draw(b, i)
			}
		}
	}
	b.WriteString("</g>\n")
	return max(w, letters("mesh "+m.Name, 10)+220), h + titleHeight
}

func letters(text string, width float64) float64 {
	return float64(utf8.RuneCountInString(text)) * width
}

func (n Node) width() float64 {
	return max(90, letters(n.title(), nameLetter), letters(n.remarks(), subLetter)) + 2*padding
}

func (n Node) draw(b *strings.Builder, i *item) {
	class := "node " + string(n.Kind)
	title := string(n.Kind) + " " + n.Name + ": " + n.object
	if n.service != nil {
		class += " folded"
		title = "service " + n.service.Name + ": " + n.service.object + "; " + title
	}
	if severity := n.severity(); severity == model.Error || severity == model.Warning {
		class += " " + string(severity)
		title += " (has findings)"
	}
	if n.down() {
		class += " down"
	}
	corner := 6.0
	if n.Kind == Service || n.service != nil {
		corner = nodeHeight / 2
	}
	fmt.Fprintf(b,
		"<g><title>%s</title><rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" rx=\"%.0f\"/>\n",
		html.EscapeString(title), class, i.x-i.w/2, i.y-nodeHeight/2, i.w, nodeHeight, corner)
	name := i.y + 4.5
	if remarks := n.remarks(); remarks != "" {
		name = i.y - 3
		fmt.Fprintf(b, "<text class=\"sub\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>", i.x, i.y+14,
			html.EscapeString(remarks))
	}
	fmt.Fprintf(b, "<text class=\"name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text></g>\n", i.x, name,
		html.EscapeString(n.title()))
}

// sides returns the points where an edge leaves one item of its path and enters the next.
func sides(from, to *item) (x1, y1, x2, y2 float64) {
	x1, x2 = from.x+from.w/2, to.x-to.w/2
	if from.layer > to.layer {
		x1, x2 = from.x-from.w/2, to.x+to.w/2
	}
	return x1, from.y, x2, to.y
}

// edge draws a curve through the items of a path.
func edge(b *strings.Builder, path []*item, e Edge) {
	var d strings.Builder
	for n := 1; n < len(path); n++ {
		x1, y1, x2, y2 := sides(path[n-1], path[n])
		if n == 1 {
			fmt.Fprintf(&d, "M%.1f %.1f", x1, y1)
		} else {
			fmt.Fprintf(&d, " L%.1f %.1f", x1, y1)
		}
		middle := (x1 + x2) / 2
		fmt.Fprintf(&d, " C%.1f %.1f %.1f %.1f %.1f %.1f", middle, y1, middle, y2, x2, y2)
	}
	fmt.Fprintf(b, "<path class=\"edge\" marker-end=\"url(#tip)\" d=\"%s\"><title>%s → %s</title></path>\n", d.String(),
		html.EscapeString(e.From), html.EscapeString(e.To))
}

// labelPosition returns the position of a label: on the last segment, where edges from the same node have diverged.
func labelPosition(path []*item) (x, y float64) {
	x1, y1, x2, y2 := sides(path[len(path)-2], path[len(path)-1])
	const part = 0.62 // fraction of the segment; y follows the cubic Bézier curve
	t := part
	rise := 3*t*t - 2*t*t*t
	across := 3*(1-t)*(1-t)*t*0.5 + 3*(1-t)*t*t*0.5 + t*t*t
	return x1 + (x2-x1)*across, y1 + (y2-y1)*rise
}
