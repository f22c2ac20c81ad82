package graph

import "strings"

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
