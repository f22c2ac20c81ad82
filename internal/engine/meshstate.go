package engine

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/internal/engine/store"
	"anymesh.dev/anymesh/model"
)

// Change is what is not as it was. The lists are in no order; what has gone is on them too.
type Change struct {
	// Views are the workloads whose view changed, Destinations the destinations that lead elsewhere.
	Views, Destinations []model.Key
	// Classes are the workloads whose pods may have other drivers, Pods the unique ids of those that belong to another workload or name
	// another driver.
	Classes []model.Key
	Pods    []string
	// FindingsChanged are the objects about which there is something else to say: a finding, or the mesh that they belong to.
	FindingsChanged []model.ObjectRef
	// Objects are those that came or changed, and Deleted those that went.
	Objects, Deleted []client.Object
	// Since is when the first of the events came in that made the change; zero for what was there at the start. Begun and Synced are
	// when work on it began, and when the mesh was up to date.
	Since, Started, Synced time.Time
	// Events is how many events made it.
	Events int
}

// meshState is the mesh that objects mean. It is not safe for concurrent use.
type meshState struct {
	graph   *incremental.Graph
	objects *store.Objects
	mesh    *store.Mesh
}

func newMeshState(dialects []dialect.Dialect) *meshState {
	g := incremental.New()
	s := &meshState{graph: g, objects: store.NewObjects(g)}
	m := store.NewModel(g)
	for _, d := range dialects {
		d.Rules(g, s.objects, m)
	}
	s.mesh = store.NewMesh(g, s.objects, m)
	return s
}

// sync brings everything up to date.
func (s *meshState) sync() Change {
	s.graph.Run()
	c := Change{
		Views: s.mesh.Views.TakeChanged(), Destinations: s.mesh.ResolvedDestinations.TakeChanged(),
		Classes: s.mesh.Classes.TakeChanged(), Pods: s.mesh.Pods.TakeChanged(), FindingsChanged: s.mesh.Findings.TakeChanged(),
	}
	seen := make(map[model.ObjectRef]struct{}, len(c.FindingsChanged))
	for _, ref := range c.FindingsChanged {
		seen[ref] = struct{}{}
	}
	for _, ref := range s.mesh.Members.TakeChanged() {
		if _, again := seen[ref]; !again {
			c.FindingsChanged = append(c.FindingsChanged, ref)
		}
	}
	return c
}

// Compute makes the state that objects mean.
func Compute(dialects []dialect.Dialect, objects []client.Object) *State {
	s := newMeshState(dialects)
	for _, o := range objects {
		s.objects.Set(o)
	}
	s.graph.Run()
	return s.snapshot()
}
