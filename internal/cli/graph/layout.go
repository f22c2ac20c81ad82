package graph

// Sizes in pixels.
const (
	nodeHeight, bendHeight = 46.0, 10.0
	verticalGap, columnGap = 18.0, 96.0
)

// layout sets the coordinates of every item and returns the size of the drawing. width returns the width of a node,
// label the width of the longest edge label after a layer.
func (g layered) layout(width func(node int) float64, label func(layer int) float64) (w, h float64) {
	x := 0.0
	for n, l := range g.layers {
		widest := 0.0
		for _, i := range l {
			i.h = bendHeight
			if i.node >= 0 {
				i.h = nodeHeight
				widest = max(widest, width(i.node))
			}
		}
		for _, i := range l {
			i.x, i.w = x+widest/2, widest // a bend is a straight line within its layer
		}
		w = x + widest
		x = w + columnGap + label(n)
	}
	for _, l := range g.layers {
		y := 0.0
		for _, i := range l {
			i.y = y + i.h/2
			y += i.h + verticalGap
		}
	}
	for sweep := range 2 * sweeps {
		g.each(sweep%2 == 0, func(l []*item, neighbors func(*item) []*item) {
			desired := make([]float64, len(l))
			for n, i := range l {
				desired[n] = i.y
				if near := neighbors(i); len(near) > 0 {
					desired[n] = mean(near, func(o *item) float64 { return o.y })
				}
			}
			position(l, desired)
		})
	}
	top, bottom := 0.0, 0.0
	first := true
	for _, l := range g.layers {
		for _, i := range l {
			if first {
				top, bottom, first = i.y-i.h/2, i.y+i.h/2, false
			}
			top, bottom = min(top, i.y-i.h/2), max(bottom, i.y+i.h/2)
		}
	}
	for _, l := range g.layers {
		for _, i := range l {
			i.y -= top
		}
	}
	return w, bottom - top
}

// position moves the items of a layer close to their desired positions, within their order and the gaps between them.
// It minimizes the sum of squares, by merging neighbors whose desired positions are out of order into blocks.
func position(l []*item, desired []float64) {
	type block struct {
		sum   float64
		count int
	}
	offset := make([]float64, len(l))
	var blocks []block
	for n, i := range l {
		if n > 0 {
			offset[n] = offset[n-1] + l[n-1].h/2 + verticalGap + i.h/2
		}
		b := block{desired[n] - offset[n], 1}
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.sum/float64(last.count) <= b.sum/float64(b.count) {
				break
			}
			b = block{last.sum + b.sum, last.count + b.count}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	n := 0
	for _, b := range blocks {
		for range b.count {
			l[n].y = b.sum/float64(b.count) + offset[n]
			n++
		}
	}
}
