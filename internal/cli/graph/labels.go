package graph

import (
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/cli/phrases"
)

// clusterSuffix is the end of names in the DNS of a cluster.
const clusterSuffix = ".svc.cluster.local"

// label sets the labels of nodes: of the names that people use, the shortest that no other node of the same kind has.
func label(nodes []Node) {
	type claim struct {
		service bool
		label   string
	}
	taken := map[claim]int{}
	for _, n := range nodes {
		for _, l := range n.labels() {
			taken[claim{n.Kind == Service, l}]++
		}
	}
	for i, n := range nodes {
		nodes[i].Label = n.Name
		for _, l := range n.labels() {
			if taken[claim{n.Kind == Service, l}] == 1 {
				nodes[i].Label = l
				break
			}
		}
	}
}

// labels are the short names of a node, from the shortest: the name of its object, then with the namespace. A service
// has the name of its object only if it is the name of a Service in the same namespace.
func (n Node) labels() []string {
	name, namespace := n.Object.Name, n.Object.Namespace
	switch {
	case n.Kind == Address || name == "":
		return nil
	case n.Kind != Service:
		return []string{name, namespace + "/" + name}
	case strings.TrimSuffix(n.Name, clusterSuffix) == name+"."+namespace:
		return []string{name, name + "." + namespace}
	}
	return nil
}

// Label is the text of an edge: the share, with route names if the service has several routes with different shares,
// and what happens to calls.
func (e Edge) Label() string {
	return strings.Join(slices.Concat(e.measures(), e.notes()), ", ")
}

// measures are the share and the rate of an edge.
func (e Edge) measures() []string {
	var out []string
	if share := e.share(); share != "" {
		out = append(out, share)
	}
	if e.Rate != nil {
		out = append(out, e.Rate.String())
	}
	return out
}

func (e Edge) share() string {
	if e.Through != nil {
		return "through " + e.through
	}
	var parts []string
	whole := func(s Share) bool { return s.Percent == phrases.Share(1, 1) }
	all := !e.gateway && len(e.Routes) == e.routeCount
	if all && len(e.Routes) > 1 && !slices.ContainsFunc(e.Routes, func(s Share) bool { return !whole(s) }) {
		return "100%"
	}
	for _, s := range e.Routes {
		if e.gateway { // its routes have one target each
			parts = append(parts, "route "+s.Route)
			continue
		}
		text := strings.Replace(s.Percent, ".0%", "%", 1)
		if e.routeCount > 1 {
			text = s.Route + " " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
