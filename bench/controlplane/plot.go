package main

import (
	"bytes"
	"fmt"
	"slices"
)

// Layout of the chart: one panel per axis, with bars for the CPU of 1000 changes.
const (
	panelWidth, panelHeight = 360, 220
	margin                  = 40
)

// draw returns the chart as SVG.
func draw(curves []curve) []byte {
	var b bytes.Buffer
	width := len(curves)*panelWidth + margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, panelHeight+2*margin)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	for i, c := range curves {
		panel(&b, c, i*panelWidth+margin)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func panel(b *bytes.Buffer, c curve, left int) {
	top := slices.MaxFunc(c.points, func(a, b point) int { return int(1000 * (a.CPU - b.CPU)) }).CPU
	fmt.Fprintf(b, `<text x="%d" y="24" font-size="14">CPU-seconds for 1000 changes, by %s</text>`+"\n", left, c.axis)
	step := (panelWidth - margin) / len(c.points)
	base := panelHeight + margin
	for i, p := range c.points {
		height := int(p.CPU / top * (panelHeight - margin))
		x := left + i*step
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="#4477aa"/>`+"\n", x, base-height, step*2/3,
			height)
		fmt.Fprintf(b, `<text x="%d" y="%d">%.2f</text>`+"\n", x, base-height-4, p.CPU)
		fmt.Fprintf(b, `<text x="%d" y="%d">%d</text>`+"\n", x, base+16, p.n)
	}
	fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="black"/>`+"\n", left, base, left+panelWidth-margin,
		base)
}
