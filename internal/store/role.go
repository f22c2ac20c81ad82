package store

import (
	"cmp"
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// Role is the role of a pod in the mesh.
type Role struct {
	Workload model.Key
	// Class is the sidecarClass annotation of the pod; empty if it has none.
	Class string
}

func (r Role) compare(o Role) int {
	return cmp.Or(r.Workload.Compare(o.Workload), strings.Compare(r.Class, o.Class))
}

// WithoutAgent lists the instances of a workload whose proxy has no agent, in order.
func (m *Mesh) WithoutAgent(workload model.Key) []model.Endpoint {
	var out []model.Endpoint
	for _, e := range m.instances.Get(workload) {
		if e.SidecarClass != "" {
			out = append(out, *e)
		}
	}
	slices.SortFunc(out, model.Endpoint.Compare)
	return out
}

// ClassesOf lists the distinct sidecarClasses of a workload's pods, sorted. A pod without the annotation has the empty
// class.
func (m *Mesh) ClassesOf(workload model.Key) []string {
	return slices.Compact(slices.Clone(m.Classes.Get(workload)))
}
