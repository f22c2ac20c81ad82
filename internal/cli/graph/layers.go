package graph

import (
	"cmp"
	"slices"
)

// sweeps is how often the order within layers, and then the places, are improved from left to right and back.
const sweeps = 12

// item is something that takes a place in a layer: a node, or a bend of an edge that crosses the layer.
type item struct {
	node  int // index into the nodes; -1 for a bend
	layer int
	order int
	left  []*item
	right []*item
	x, y  float64 // of its middle, y only after place
	w, h  float64
}

// layered is a graph whose edges go from one layer to the next.
type layered struct {
	layers [][]*item
	// paths are the items along each edge, from its beginning to its end.
	paths [][]*item
}

// layer puts nodes into layers, from left to right as calls go, and orders them so that few edges cross (Sugiyama's method).
func layer(nodes int, edges [][2]int) layered {
	depth := depths(nodes, edges)
	var g layered
	items := make([]*item, nodes)
	put := func(i *item) *item {
		for len(g.layers) <= i.layer {
			g.layers = append(g.layers, nil)
		}
		i.order = len(g.layers[i.layer])
		g.layers[i.layer] = append(g.layers[i.layer], i)
		return i
	}
	for n := range nodes {
		items[n] = put(&item{node: n, layer: depth[n]})
	}
	for _, e := range edges {
		from, to := items[e[0]], items[e[1]]
		backwards := from.layer > to.layer
		if backwards {
			from, to = to, from
		}
		path := []*item{from}
		for l := from.layer + 1; l < to.layer; l++ {
			path = append(path, put(&item{node: -1, layer: l}))
		}
		path = append(path, to)
		for i := 1; i < len(path); i++ {
			path[i-1].right = append(path[i-1].right, path[i])
			path[i].left = append(path[i].left, path[i-1])
		}
		if backwards {
			slices.Reverse(path)
		}
		g.paths = append(g.paths, path)
	}
	for sweep := range sweeps {
		g.each(sweep%2 == 0, func(l []*item, neighbours func(*item) []*item) {
			weight := map[*item]float64{}
			for _, i := range l {
				weight[i] = float64(i.order)
				if near := neighbours(i); len(near) > 0 {
					weight[i] = mean(near, func(o *item) float64 { return float64(o.order) })
				}
			}
			slices.SortStableFunc(l, func(a, b *item) int { return cmp.Compare(weight[a], weight[b]) })
			for n, i := range l {
				i.order = n
			}
		})
	}
	return g
}

// each goes over the layers from left to right, or back, with the neighbours on the side that it comes from.
func (g layered) each(rightwards bool, do func([]*item, func(*item) []*item)) {
	for n := range g.layers {
		if rightwards {
			do(g.layers[n], func(i *item) []*item { return i.left })
		} else {
			do(g.layers[len(g.layers)-1-n], func(i *item) []*item { return i.right })
		}
	}
}

func mean(all []*item, of func(*item) float64) float64 {
	sum := 0.0
	for _, i := range all {
		sum += of(i)
	}
	return sum / float64(len(all))
}

// depths gives each node the length of the longest way to it, leaving out the edges that close circles. A node that nothing leads
// to stands right before the first that it leads to.
func depths(nodes int, edges [][2]int) []int {
	below := make([][]int, nodes)
	for _, e := range edges {
		if e[0] != e[1] {
			below[e[0]] = append(below[e[0]], e[1])
		}
	}
	const fresh, open, done = 0, 1, 2
	state := make([]int, nodes)
	var order []int // children before their parents
	forward := make([][]int, nodes)
	above := make([]int, nodes)
	var visit func(int)
	visit = func(n int) {
		state[n] = open
		for _, next := range below[n] {
			if state[next] == open {
				continue // this edge closes a circle
			}
			forward[n] = append(forward[n], next)
			above[next]++
			if state[next] == fresh {
				visit(next)
			}
		}
		state[n] = done
		order = append(order, n)
	}
	called := make([]bool, nodes)
	for _, e := range edges {
		called[e[1]] = called[e[1]] || e[0] != e[1]
	}
	for _, wanted := range []bool{false, true} { // those that nothing leads to first
		for n := range nodes {
			if called[n] == wanted && state[n] == fresh {
				visit(n)
			}
		}
	}
	slices.Reverse(order)
	depth := make([]int, nodes)
	for _, n := range order {
		for _, next := range forward[n] {
			depth[next] = max(depth[next], depth[n]+1)
		}
	}
	for n := range nodes {
		if above[n] == 0 && len(forward[n]) > 0 {
			nearest := depth[forward[n][0]]
			for _, next := range forward[n] {
				nearest = min(nearest, depth[next])
			}
			depth[n] = nearest - 1
		}
	}
	return depth
}
