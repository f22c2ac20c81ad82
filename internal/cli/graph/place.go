package graph

// Sizes in pixels.
const (
	nodeHeight, bendHeight = 46.0, 10.0
	verticalGap, columnGap = 18.0, 96.0
)

// place gives every item its x and y, and returns the size of the whole. width is that of each node; label the longest label of an edge
// that leaves a layer.
func (g layered) place(width func(node int) float64, label func(layer int) float64) (w, h float64) {
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
			i.x, i.w = x+widest/2, widest // a bend is straight beside the nodes of its layer
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
		g.each(sweep%2 == 0, func(l []*item, neighbours func(*item) []*item) {
			wish := make([]float64, len(l))
			for n, i := range l {
				wish[n] = i.y
				if near := neighbours(i); len(near) > 0 {
					wish[n] = mean(near, func(o *item) float64 { return o.y })
				}
			}
			settle(l, wish)
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

// settle moves the items of a layer as near to their wishes as their order and the gaps between them allow: the least sum of squares, by
// joining neighbours whose wishes are out of order into blocks.
func settle(l []*item, wish []float64) {
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
		b := block{wish[n] - offset[n], 1}
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
