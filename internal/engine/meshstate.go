package engine

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// Change lists what changed in one sync. The lists are not sorted and include deleted items.
type Change struct {
	// Views are the workloads whose view changed in a part that only they have, or that have another outbound view.
	Views []model.Key
	// OutboundViews are those that changed, or whose mesh changed.
	OutboundViews []model.OutboundKey
	// Destinations are the destinations whose endpoints or settings changed.
	Destinations []model.Key
	// Classes are the workloads whose set of sidecarClasses changed. Pods are the UIDs of pods whose workload or
	// sidecarClass changed.
	Classes []model.Key
	Pods    []string
	// FindingsChanged are the objects whose findings, mesh or state, see store.NewStates, changed. One with another mesh
	// and another state is listed twice.
	FindingsChanged []model.ObjectRef
	// Objects are the added and updated objects, Deleted the deleted ones.
	Objects, Deleted []client.Object
	// Since is the arrival time of the oldest event of the change; zero for the first sync. Started and Synced are the
	// start and the end of the update of the mesh.
	Since, Started, Synced time.Time
	// Events is the number of coalesced events.
	Events int
}

// meshState holds the objects, the rules and the resulting mesh. It is not safe for concurrent use.
type meshState struct {
	graph   *incremental.Graph
	objects *store.Objects
	mesh    *store.Mesh
}

// newMeshState panics if the declarations of the rules are wrong.
func newMeshState(dialects []dialect.Dialect, settings Settings) *meshState {
	s := assemble(dialects, settings)
	s.graph.Seal()
	return s
}

// assemble adds the rules, each dialect's with its name.
func assemble(dialects []dialect.Dialect, settings Settings) *meshState {
	g := incremental.New()
	s := &meshState{graph: g, objects: store.NewObjects(g)}
	s.objects.RefOf = dialect.RefOf
	m := store.NewModel(g)
	for _, d := range dialects {
		g.SetOwner(d.Name())
		d.Rules(g, s.objects, m)
	}
	g.SetOwner("")
	s.mesh = store.NewMesh(g, s.objects, m, settings)
	return s
}

// sync evaluates the rules whose input changed.
func (s *meshState) sync() Change {
	s.graph.Run()
	c := Change{
		Views: s.mesh.Views.TakeChanged(), OutboundViews: s.mesh.OutboundViews.TakeChanged(),
		Destinations: s.mesh.ResolvedDestinations.TakeChanged(),
		Classes:      s.mesh.Classes.TakeChanged(), Pods: s.mesh.Pods.TakeChanged(),
		FindingsChanged: s.mesh.Findings.TakeChanged(),
	}
	seen := make(map[model.ObjectRef]struct{}, len(c.FindingsChanged))
	for _, ref := range c.FindingsChanged {
		seen[ref] = struct{}{}
	}
	for _, ref := range s.mesh.TakeChangedStates() {
		if _, again := seen[ref]; !again {
			c.FindingsChanged = append(c.FindingsChanged, ref)
		}
	}
	return c
}

// Compute translates objects into a state, without an engine.
func Compute(dialects []dialect.Dialect, settings Settings, objects []client.Object) *State {
	return newMeshState(dialects, settings).compute(objects)
}

func (s *meshState) compute(objects []client.Object) *State {
	for _, o := range objects {
		s.objects.Set(o)
	}
	s.graph.Run()
	out := s.snapshot()
	out.Objects = s.objects.Known(objects)
	return out
}
