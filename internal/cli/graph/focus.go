package graph

import (
	"slices"

	"anymesh.dev/anymesh/internal/cli/lookup"
)

// Unlimited is a depth without a limit.
const Unlimited = -1

// Focus returns the part of a mesh that reaches the nodes with a name or that they reach. The name is a label, the name
// in the mesh, NAMESPACE/NAME, NAME, KIND.GROUP/NAME or KIND.GROUP/NAMESPACE/NAME of the object. depth is the number of
// calls from workload to workload in each direction, or Unlimited. It reports false if no node has the name.
func (m Mesh) Focus(name string, depth int) (Mesh, bool) {
	var centers []string
	for _, n := range m.Nodes {
		if slices.Contains([]string{n.Label, n.Name, n.Object.Name, n.Object.Namespace + "/" + n.Object.Name}, name) ||
			lookup.HasName(n.Object, name) {
			centers = append(centers, n.ID)
		}
	}
	if len(centers) == 0 {
		return m, false
	}
	w := m.walker()
	kept := w.walk(centers, w.callees, depth)
	for id := range w.walk(centers, w.callers, depth) {
		kept[id] = true
	}
	return m.part(w, kept), true
}

// Limit returns what is at most so many calls away from the nodes that nothing calls.
func (m Mesh) Limit(depth int) Mesh {
	if depth == Unlimited {
		return m
	}
	w := m.walker()
	var roots []string
	for _, n := range m.Nodes {
		if len(w.callers[n.ID]) == 0 {
			roots = append(roots, n.ID)
		}
	}
	return m.part(w, w.walk(roots, w.callees, depth))
}

type walker struct {
	kinds            map[string]Kind
	callees, callers map[string][]string
}

func (m Mesh) walker() walker {
	w := walker{map[string]Kind{}, map[string][]string{}, map[string][]string{}}
	for _, n := range m.Nodes {
		w.kinds[n.ID] = n.Kind
	}
	for _, e := range m.Edges {
		w.callees[e.From] = append(w.callees[e.From], e.To)
		w.callers[e.To] = append(w.callers[e.To], e.From)
	}
	return w
}

// walk returns the nodes that are at most so many calls away. A call goes through services and ends at the next node
// that is none.
func (w walker) walk(from []string, next map[string][]string, depth int) map[string]bool {
	found := map[string]bool{}
	for _, id := range from {
		found[id] = true
	}
	for calls, here := 0, slices.Clone(from); len(here) > 0 && calls != depth; calls++ {
		var after []string
		for len(here) > 0 {
			id := here[0]
			here = here[1:]
			for _, to := range next[id] {
				if found[to] {
					continue
				}
				found[to] = true
				if w.kinds[to] == Service {
					here = append(here, to)
				} else {
					after = append(after, to)
				}
			}
		}
		here = after
	}
	return found
}

// part returns some nodes with the edges between them, and counts the neighbors of each that are left out. The callers
// of a workload are those of its services.
func (m Mesh) part(w walker, kept map[string]bool) Mesh {
	out := Mesh{Name: m.Name, Egress: m.Egress, Nodes: []Node{}, Edges: []Edge{}}
	callers, callees := map[string]int{}, map[string]int{}
	for _, e := range m.Edges {
		switch {
		case kept[e.From] && kept[e.To]:
			out.Edges = append(out.Edges, e)
		case kept[e.From]:
			callees[e.From]++
		case kept[e.To] && w.kinds[e.From] == Service:
			callers[e.To] += len(w.callers[e.From])
		case kept[e.To]:
			callers[e.To]++
		}
	}
	for _, n := range m.Nodes {
		if kept[n.ID] {
			n.HiddenCallers, n.HiddenCallees = callers[n.ID], callees[n.ID]
			out.Nodes = append(out.Nodes, n)
		}
	}
	return out
}
