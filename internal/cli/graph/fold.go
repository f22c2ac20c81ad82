package graph

import (
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/model"
)

// fold draws a service and the workload that is its only destination as one node, if nothing else leads to the
// workload. Most services of a mesh are of this sort.
func (m Mesh) fold() Mesh {
	w := m.walker()
	nodes := map[string]Node{}
	for _, n := range m.Nodes {
		nodes[n.ID] = n
	}
	into := map[string]string{} // from services to workloads
	for _, n := range m.Nodes {
		if n.Kind != Service || n.HiddenCallees > 0 || len(w.callees[n.ID]) != 1 {
			continue
		}
		to := w.callees[n.ID][0]
		callers := len(w.callers[to]) + nodes[to].HiddenCallers
		if nodes[to].Kind == Workload && callers == 1 && !slices.Contains(w.callers[n.ID], to) {
			into[n.ID] = to
			workload := nodes[to]
			workload.service = &n
			nodes[to] = workload
		}
	}
	out := Mesh{Name: m.Name, Egress: m.Egress}
	for _, n := range m.Nodes {
		if into[n.ID] == "" {
			out.Nodes = append(out.Nodes, nodes[n.ID])
		}
	}
	for _, e := range m.Edges {
		if into[e.From] != "" {
			continue
		}
		if to := into[e.To]; to != "" {
			e.To = to
		}
		out.Edges = append(out.Edges, e)
	}
	return out
}

// title is the name of a node in a drawing: that of the service, if it is folded into its workload.
func (n Node) title() string {
	if n.service != nil {
		return n.service.Label
	}
	return n.Label
}

// remarks are the small print of a node: workload, ports, pods, and the number of neighbors that are not drawn.
func (n Node) remarks() string {
	var parts []string
	ports := strings.Join(n.Ports, ", ")
	if n.service != nil {
		if n.service.Label != n.Label {
			parts = append(parts, n.Label)
		}
		if of := strings.Join(n.service.Ports, ", "); of != ports && of != "" {
			ports = of + " → " + ports
		}
	}
	if ports != "" {
		parts = append(parts, ports)
	}
	parts = append(parts, n.Rates...)
	if n.Pods != nil {
		parts = append(parts, n.Pods.String())
	}
	callers := n.HiddenCallers
	if n.service != nil {
		callers += n.service.HiddenCallers
	}
	if callers > 0 {
		parts = append(parts, "+"+terminal.Count(callers, "caller", "callers"))
	}
	if n.HiddenCallees > 0 {
		parts = append(parts, "+"+terminal.Count(n.HiddenCallees, "callee", "callees"))
	}
	return strings.Join(parts, " · ")
}

// severity is the highest severity of a node and of the service that is folded into it.
func (n Node) severity() model.Severity {
	if n.service == nil {
		return n.Severity
	}
	for _, s := range []model.Severity{model.Error, model.Warning} {
		if n.Severity == s || n.service.Severity == s {
			return s
		}
	}
	return n.Severity
}
