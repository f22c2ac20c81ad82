package graph

import (
	"cmp"
	"slices"
)

// sweeps is the number of passes that improve the order within layers, and of those that improve the coordinates.
const sweeps = 12

// item is an element of a layer: a node, or a bend of an edge that crosses the layer.
type item struct {
	node  int // index into the nodes; -1 for a bend
	layer int
	order int
	left  []*item
	right []*item
	x, y  float64 // center; set by layout
	w, h  float64
}

// layered is a graph in which edges connect adjacent layers only.
type layered struct {
	layers [][]*item
	// paths are the items along each edge, from source to target.
	paths [][]*item
}

// layer assigns nodes to layers from left to right in call direction, and orders them to reduce edge crossings
// (Sugiyama's method).
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
		g.each(sweep%2 == 0, func(l []*item, neighbors func(*item) []*item) {
			weight := map[*item]float64{}
			for _, i := range l {
				weight[i] = float64(i.order)
				if near := neighbors(i); len(near) > 0 {
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

// each visits the layers from left to right, or reversed. neighbors returns the neighbors in the previously visited
// layer.
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

// depths returns the length of the longest path to each node, without edges that close cycles. A node without incoming
// edges gets the layer before its nearest successor.
func depths(nodes int, edges [][2]int) []int {
	below := make([][]int, nodes)
	for _, e := range edges {
		if e[0] != e[1] {
			below[e[0]] = append(below[e[0]], e[1])
		}
	}
	const unvisited, open, done = 0, 1, 2
	state := make([]int, nodes)
	var order []int // children before their parents
	forward := make([][]int, nodes)
	above := make([]int, nodes)
	var visit func(int)
	visit = func(n int) {
		state[n] = open
		for _, next := range below[n] {
			if state[next] == open {
				continue // this edge closes a cycle
			}
			forward[n] = append(forward[n], next)
			above[next]++
			if state[next] == unvisited {
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
	for _, wanted := range []bool{false, true} { // nodes without incoming edges first
		for n := range nodes {
			if called[n] == wanted && state[n] == unvisited {
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
