package store

import (
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/model"
)

// Mesh is what follows from the model: what sidecars must know.
type Mesh struct {
	*Model
	Views   *incremental.Relation[model.Key, *model.View]
	Reaches *incremental.Relation[model.Key, model.Reach]
	// Pods names the workload that a pod is an instance of, by the pod's unique id.
	Pods *incremental.Relation[string, model.Key]

	instances *incremental.Relation[model.Key, model.Endpoint] // by workload
	groups    *incremental.Relation[model.Key, model.Endpoint] // by mesh and name of the group
	services  *incremental.Relation[string, model.Service]     // by mesh
}

// NewMesh adds the rules that follow from the model; those of the dialects must be there already.
func NewMesh(g *incremental.Graph, m *Model) *Mesh {
	mesh := &Mesh{
		Model:     m,
		Views:     incremental.NewRelation[model.Key](g, "views", func(*model.View, *model.View) int { return 0 }, deepEqual[*model.View]),
		Reaches:   incremental.NewRelation[model.Key](g, "reaches", func(model.Reach, model.Reach) int { return 0 }, deepEqual[model.Reach]),
		Pods:      incremental.NewRelation[string](g, "pods", model.Key.Compare, func(a, b model.Key) bool { return a == b }),
		instances: incremental.NewRelation[model.Key](g, "instances", compareEndpoints, deepEqual[model.Endpoint]),
		groups:    incremental.NewRelation[model.Key](g, "groups", compareEndpoints, deepEqual[model.Endpoint]),
		services:  incremental.NewRelation[string](g, "services of a mesh", func(a, b model.Service) int { return strings.Compare(a.Name, b.Name) }, deepEqual[model.Service]),
	}
	mesh.Views.TrackChanges()
	mesh.Reaches.TrackChanges()
	mesh.Pods.TrackChanges()
	mesh.Findings.TrackChanges()
	mesh.Members.TrackChanges()
	incremental.AddRule(g, "instance", m.Endpoints, mesh.instance)
	incremental.AddRule(g, "service", m.Services, func(t *incremental.Evaluation, key model.Key, all []model.Service) {
		mesh.services.Emit(t, key.Mesh, all[0])
	})
	incremental.AddRule(g, "reach", m.Destinations, mesh.reach)
	incremental.AddRule(g, "view", m.Workloads, func(t *incremental.Evaluation, key model.Key, _ []model.Workload) {
		view, findings, ok := model.NewView(reader{t, mesh}, key)
		if !ok {
			return // its mesh is gone; the dialect has said so
		}
		mesh.Views.Emit(t, key, &view)
		for _, f := range findings {
			m.Report(t, f)
		}
	})
	return mesh
}

// instance notes where an endpoint belongs.
func (m *Mesh) instance(t *incremental.Evaluation, _ model.Instance, all []model.Endpoint) {
	e := all[0]
	m.instances.Emit(t, e.Workload, e)
	for _, group := range e.Groups {
		m.groups.Emit(t, model.Key{Mesh: e.Workload.Mesh, Name: group}, e)
	}
	m.Pods.Emit(t, e.Instance.UID, e.Workload)
}

func (m *Mesh) reach(t *incremental.Evaluation, key model.Key, all []model.Destination) {
	d := all[0]
	mesh, ok := m.Meshes.ReadFirst(t, key.Mesh)
	if !ok {
		return
	}
	var endpoints []model.Endpoint
	switch {
	case d.Discovery.Kind != model.DiscoverInstances:
	case d.Discovery.Group == "":
		endpoints = m.instances.Read(t, model.Key{Mesh: key.Mesh, Name: d.Workload})
	default:
		endpoints = m.groups.Read(t, model.Key{Mesh: key.Mesh, Name: d.Discovery.Group})
	}
	m.Reaches.Emit(t, key, model.NewReach(mesh, d, endpoints))
}

// reader is the model as a rule sees it.
type reader struct {
	t *incremental.Evaluation
	m *Mesh
}

func (r reader) Mesh(name string) (model.Mesh, bool) { return r.m.Meshes.ReadFirst(r.t, name) }
func (r reader) Workload(key model.Key) (model.Workload, bool) {
	return r.m.Workloads.ReadFirst(r.t, key)
}
func (r reader) Service(key model.Key) (model.Service, bool) { return r.m.Services.ReadFirst(r.t, key) }
func (r reader) Services(mesh string) []model.Service        { return r.m.services.Read(r.t, mesh) }
func (r reader) Router(key model.Key) (model.Router, bool)   { return r.m.Routers.ReadFirst(r.t, key) }
func (r reader) Destination(k model.Key) (model.Destination, bool) {
	return r.m.Destinations.ReadFirst(r.t, k)
}
func (r reader) Accesses(workload model.Key) []model.Access { return r.m.Accesses.Read(r.t, workload) }

// Snapshot gives the whole model as it is, in canonical order.
func (m *Model) Snapshot() *model.Model {
	out := &model.Model{}
	collect(m.Meshes, &out.Meshes)
	collect(m.Workloads, &out.Workloads)
	collect(m.Services, &out.Services)
	collect(m.Routers, &out.Routers)
	collect(m.Destinations, &out.Destinations)
	collect(m.Endpoints, &out.Endpoints)
	m.Accesses.ForEach(func(_ model.Key, all []model.Access) { out.Accesses = append(out.Accesses, all...) })
	return out.Canonical()
}

// AllFindings lists all findings in canonical order.
func (m *Model) AllFindings() []model.Finding {
	var out []model.Finding
	m.Findings.ForEach(func(_ model.ObjectRef, all []model.Finding) { out = append(out, all...) })
	return model.SortFindings(out)
}

func collect[K comparable, V any](from *incremental.Relation[K, V], into *[]V) {
	from.ForEach(func(_ K, all []V) { *into = append(*into, all[0]) })
}

// FindingsOf lists the findings about an object, each once.
func (m *Model) FindingsOf(ref model.ObjectRef) []model.Finding {
	return slices.Compact(slices.Clone(m.Findings.Get(ref)))
}
