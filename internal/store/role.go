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

// ClassesOf lists the distinct sidecarClasses of a workload's pods, sorted. A pod without the annotation has the empty
// class.
func (m *Mesh) ClassesOf(workload model.Key) []string {
	return slices.Compact(slices.Clone(m.Classes.Get(workload)))
}
