// Package graph draws meshes.
//
// In: the state of the mesh. Out: a graph of workloads, the services that they can reach, and the destinations of
// services, as a text tree, DOT for Graphviz, JSON, or a self-contained SVG. Output is deterministic.
package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/cli/phrases"
	"anymesh.dev/anymesh/internal/cli/requestrates"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Kind is the kind of a node.
type Kind string

// The kinds of nodes. An address is a destination without a workload.
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
	// Nodes are ordered by kind and name, edges by their nodes.
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
}

// Node is a workload or a service.
type Node struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	// Label is the short name in drawings: it is unique among workloads, or among services.
	Label  string          `json:"label"`
	Ports  []string        `json:"ports,omitempty"`
	Object model.ObjectRef `json:"object"`
	// Severity is the highest severity of the findings about the object; empty if there are none.
	Severity model.Severity `json:"severity,omitempty"`
	// Rates are limits of the rate at which each pod accepts requests and connections, by objects of their own.
	Rates []string `json:"rates,omitempty"`
	// Pods counts the pods of a workload of a cluster; nil for files.
	Pods *Pods `json:"pods,omitempty"`
	// HiddenCallers and HiddenCallees are the numbers of neighbors that are left out.
	HiddenCallers int `json:"hiddenCallers,omitempty"`
	HiddenCallees int `json:"hiddenCallees,omitempty"`
	// service is folded into its workload in drawings.
	service *Node
	// object is Object for people.
	object string
}

// Pods are the pods of a workload.
type Pods struct {
	Ready int `json:"ready"`
	Total int `json:"total"`
}

// String returns, for example, "2/3 ready".
func (p Pods) String() string { return fmt.Sprintf("%d/%d ready", p.Ready, p.Total) }

// Edge connects a workload to a service that it can reach, or a service to a destination.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Routes are the routes of the service with this destination, or of the gateway to this service.
	Routes []Share `json:"routes,omitempty"`
	// Through is the group of backends that makes the service reachable for the workload; nil without one.
	Through *model.ObjectRef `json:"through,omitempty"`
	// Refused are the ports of the service on which no sidecar accepts the workload.
	Refused []uint16 `json:"refused,omitempty"`
	// Retries and Limits are those of objects of their own, for the calls of the workload.
	Retries uint32   `json:"retries,omitempty"`
	Limits  []string `json:"limits,omitempty"`
	// Rate is the rate of requests of the workload to the service; nil if it is not measured.
	Rate *requestrates.Rate `json:"rate,omitempty"`
	// ports is the number of ports that the workload can reach.
	ports int
	// routeCount is the number of routes of the service or gateway.
	routeCount int
	// gateway is true for the routes of a gateway.
	gateway bool
	// through is Through for people.
	through string
}

// Share is the percentage of the traffic of a route on an edge.
type Share struct {
	Route string `json:"route"`
	Match string `json:"match"`
	// Percent is text, for example "75.0%".
	Percent string `json:"percent"`
}

// SetRates sets the rates of requests of a workload, by the names of services.
func (m Mesh) SetRates(workload string, rates map[string]requestrates.Rate) {
	for i, e := range m.Edges {
		service, is := strings.CutPrefix(e.To, "service ")
		if rate, measured := rates[service]; is && measured && e.From == "workload "+workload {
			m.Edges[i].Rate = &rate
		}
	}
}

// Of builds the graphs of all meshes, ordered by name. live is true for the state of a cluster: workloads then have
// counts of pods.
func Of(s *engine.State, live bool) []Mesh {
	out := []Mesh{}
	for _, mesh := range s.Index.Model.Meshes {
		b := builder{
			state: s, live: live, nodes: map[string]Node{}, edges: map[[2]string]*Edge{}, accepted: map[string]clients{},
		}
		b.mesh(mesh.Name)
		out = append(out, b.done(mesh))
	}
	return out
}

type builder struct {
	state *engine.State
	live  bool
	nodes map[string]Node
	edges map[[2]string]*Edge
	// accepted are the clients of destinations, by name.
	accepted map[string]clients
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
	n := Node{ID: "workload " + w.Name, Kind: Workload, Name: w.Name, Object: w.Origin.Object()}
	if w.Role == model.RoleGateway {
		n.Kind = Gateway
	}
	for _, l := range w.Listeners {
		n.Ports = append(n.Ports, fmt.Sprintf("%d %s", l.Port, l.Protocol))
	}
	n.Rates = ratesOf(w)
	if b.live {
		n.Pods = b.pods(w.Key)
	}
	b.add(n)
	if view := b.state.Views[w.Key]; view != nil {
		for _, o := range view.Outbound {
			for _, binding := range o.Bindings {
				e := b.edge(n.ID, "service "+binding.Service)
				e.Through = b.state.Index.Through(view.View, binding.Service)
				b.call(e, w, o.Port, binding)
			}
		}
		b.routesToServices(n.ID, view)
		b.outside(n.ID, view)
	}
}

// pods counts the pods of a workload.
func (b *builder) pods(workload model.Key) *Pods {
	var p Pods
	for _, e := range b.state.Index.Endpoints(workload) {
		p.Total++
		if e.Ready {
			p.Ready++
		}
	}
	return &p
}

// routesToServices adds the routes of a gateway to its edges. Several listeners can have the same route.
func (b *builder) routesToServices(gateway string, view *engine.View) {
	var added []model.Origin
	for _, in := range view.Inbound {
		for _, route := range in.Routes {
			if route.Action.Service == nil || slices.ContainsFunc(added, route.Origin.Equal) {
				continue
			}
			added = append(added, route.Origin)
			e := b.edge(gateway, "service "+route.Action.Service.Service)
			e.gateway = true
			e.Routes = append(e.Routes,
				Share{Route: route.Name, Match: phrases.Match(route.Match), Percent: phrases.Share(1, 1)})
		}
	}
}

func (b *builder) service(service model.Service, r model.Router, destinations map[string]model.Destination) {
	n := Node{ID: "service " + service.Name, Kind: Service, Name: service.Name, Object: service.Origin.Object()}
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
				b.add(Node{ID: to, Kind: Address, Name: d.Name, Object: d.Origin.Object()})
			}
			e := b.edge(n.ID, to)
			e.routeCount = len(r.Routes)
			e.Routes = append(e.Routes,
				Share{Route: route.Name, Match: phrases.Match(route.Match), Percent: phrases.Share(t.Weight, total)})
		}
	}
}

func (b *builder) add(n Node) {
	for _, f := range b.state.Findings {
		if f.Object == n.Object && (n.Severity == "" || f.Severity == model.Error) {
			n.Severity = f.Severity
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
	kinds := dialect.KindNamesOfObjects(b.state.Objects)
	for _, n := range b.nodes {
		n.object = kinds.Object(n.Object)
		out.Nodes = append(out.Nodes, n)
	}
	for _, e := range b.edges {
		slices.Sort(e.Refused)
		if e.Through != nil {
			e.through = kinds.Object(*e.Through)
		}
		_, from := b.nodes[e.From]
		if _, to := b.nodes[e.To]; from && to {
			out.Edges = append(out.Edges, *e)
		}
	}
	label(out.Nodes)
	slices.SortFunc(out.Nodes, func(x, y Node) int { return cmp.Compare(x.ID, y.ID) })
	slices.SortFunc(out.Edges, func(x, y Edge) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To))
	})
	return out
}
