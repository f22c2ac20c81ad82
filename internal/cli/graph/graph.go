// Package graph draws meshes.
//
// In: a state of the mesh. Out: who may reach which service, and where services lead, as a tree of text, as DOT for Graphviz, as
// JSON, and as an SVG that needs nothing else. Equal states give equal bytes.
package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/cli/phrases"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Kind is what a node is.
type Kind string

// The kinds of nodes. An address is a destination that is no workload.
const (
	Workload Kind = "workload"
	Gateway  Kind = "gateway"
	Service  Kind = "service"
	Address  Kind = "address"
)

// Mesh is the graph of one mesh.
type Mesh struct {
	Name   string       `json:"name"`
	Egress model.Egress `json:"egress"`
	// Nodes are ordered by kind and name, edges by the nodes that they join.
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
}

// Node is a workload or a service.
type Node struct {
	ID     string          `json:"id"`
	Kind   Kind            `json:"kind"`
	Name   string          `json:"name"`
	Ports  []string        `json:"ports,omitempty"`
	Object model.ObjectRef `json:"object"`
	// Worst is the severity of the worst finding about the object; empty if there is none.
	Worst model.Severity `json:"worst,omitempty"`
}

// Edge says that a workload may reach a service, or that a service leads to a workload.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Routes are those by which a service leads there.
	Routes []Share `json:"routes,omitempty"`
	// all is the number of routes of the service.
	all int
}

// Share is the part of a route's traffic that takes an edge.
type Share struct {
	Route string `json:"route"`
	Match string `json:"match"`
	// Percent is a text such as "75.0%".
	Percent string `json:"percent"`
}

// Label is what is written beside an edge: the share or, if routes differ, that of each.
func (e Edge) Label() string {
	var parts []string
	whole := func(s Share) bool { return s.Percent == phrases.Share(1, 1) }
	if len(e.Routes) > 1 && len(e.Routes) == e.all && !slices.ContainsFunc(e.Routes, func(s Share) bool { return !whole(s) }) {
		return "100%"
	}
	for _, s := range e.Routes {
		text := strings.Replace(s.Percent, ".0%", "%", 1)
		if e.all > 1 {
			text = s.Route + " " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// Of draws the meshes of a state, in the order of their names.
func Of(s *engine.State) []Mesh {
	out := []Mesh{}
	for _, mesh := range s.Index.Model.Meshes {
		b := builder{state: s, nodes: map[string]Node{}, edges: map[[2]string]*Edge{}}
		b.mesh(mesh.Name)
		out = append(out, b.done(mesh))
	}
	return out
}

type builder struct {
	state *engine.State
	nodes map[string]Node
	edges map[[2]string]*Edge
}

func (b *builder) mesh(mesh string) {
	m := b.state.Index.Model
	routers := map[string]model.Router{}
	for _, r := range m.Routers {
		if r.Mesh == mesh {
			routers[r.Name] = r
		}
	}
	destinations := map[string]model.Destination{}
	for _, d := range m.Destinations {
		if d.Mesh == mesh {
			destinations[d.Name] = d
		}
	}
	for _, w := range m.Workloads {
		if w.Mesh == mesh {
			b.workload(w)
		}
	}
	for _, service := range m.Services {
		if service.Mesh == mesh {
			b.service(service, routers[service.Router], destinations)
		}
	}
}

func (b *builder) workload(w model.Workload) {
	n := Node{ID: "workload " + w.Name, Kind: Workload, Name: w.Name, Object: w.Origin.Object}
	if w.Role == model.RoleGateway {
		n.Kind = Gateway
	}
	for _, l := range w.Listeners {
		n.Ports = append(n.Ports, fmt.Sprintf("%d %s", l.Port, l.Protocol))
	}
	b.add(n)
	if view := b.state.Views[w.Key]; view != nil {
		for _, o := range view.Outbound {
			for _, binding := range o.Bindings {
				b.edge(n.ID, "service "+binding.Service)
			}
		}
	}
}

func (b *builder) service(service model.Service, r model.Router, destinations map[string]model.Destination) {
	n := Node{ID: "service " + service.Name, Kind: Service, Name: service.Name, Object: service.Origin.Object}
	for _, p := range r.Ports {
		n.Ports = append(n.Ports, fmt.Sprintf("%d %s", p.Port, p.Protocol))
	}
	b.add(n)
	for _, route := range r.Routes {
		var total uint32
		for _, t := range route.Action.Destinations {
			total += t.Weight
		}
		for _, t := range route.Action.Destinations {
			d, known := destinations[t.Destination]
			if t.Weight == 0 || !known {
				continue
			}
			to := "workload " + d.Workload
			if d.Workload == "" {
				to = "address " + d.Name
				b.add(Node{ID: to, Kind: Address, Name: d.Name, Object: d.Origin.Object})
			}
			e := b.edge(n.ID, to)
			e.all = len(r.Routes)
			e.Routes = append(e.Routes, Share{Route: route.Name, Match: phrases.Match(route.Match), Percent: phrases.Share(t.Weight, total)})
		}
	}
}

func (b *builder) add(n Node) {
	for _, f := range b.state.Findings {
		if f.Object == n.Object && (n.Worst == "" || f.Severity == model.Error) {
			n.Worst = f.Severity
		}
	}
	b.nodes[n.ID] = n
}

func (b *builder) edge(from, to string) *Edge {
	key := [2]string{from, to}
	if b.edges[key] == nil {
		b.edges[key] = &Edge{From: from, To: to}
	}
	return b.edges[key]
}

func (b *builder) done(mesh model.Mesh) Mesh {
	out := Mesh{Name: mesh.Name, Egress: mesh.Egress, Nodes: []Node{}, Edges: []Edge{}}
	for _, n := range b.nodes {
		out.Nodes = append(out.Nodes, n)
	}
	for _, e := range b.edges {
		_, from := b.nodes[e.From]
		if _, to := b.nodes[e.To]; from && to {
			out.Edges = append(out.Edges, *e)
		}
	}
	slices.SortFunc(out.Nodes, func(x, y Node) int { return cmp.Compare(x.ID, y.ID) })
	slices.SortFunc(out.Edges, func(x, y Edge) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To)) })
	return out
}
