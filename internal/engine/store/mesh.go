package store

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/model"
)

// Mesh is derived from the model: the input for the configuration of sidecars.
type Mesh struct {
	*Model
	viewRelations
	ResolvedDestinations *incremental.Relation[model.Key, model.ResolvedDestination]
	// Pods holds the workload and sidecarClass of each pod, by pod UID.
	Pods *incremental.Relation[string, Pod]
	// Classes lists the sidecarClasses of a workload's pods, one entry per pod. ClassesOf removes duplicates.
	Classes *incremental.Relation[model.Key, string]

	settings  Settings
	instances *incremental.Relation[model.Key, model.Endpoint] // by workload
	groups    *incremental.Relation[model.Key, model.Endpoint] // by mesh and name of the group
	services  *incremental.Relation[string, model.Service]     // by mesh, with addresses
	// addressed are the services of the model with their addresses.
	addressed *incremental.Relation[model.Key, model.Service]
	// reservedNames are the names that need a reserved address, reserved the addresses of each.
	reservedNames *incremental.Relation[allKey, string]
	reserved      *incremental.Relation[string, netip.Addr]
	// podModes has the mode of each pod by workload, modes the one that applies.
	podModes, modes *incremental.Relation[model.Key, model.DNSMode]
	clusterServices *incremental.Relation[types.NamespacedName, *corev1.Service]
	pods            *incremental.Relation[types.NamespacedName, *corev1.Pod]
}

// NewMesh adds the rules that derive the mesh from the model. The rules of the dialects must already be added.
func NewMesh(g *incremental.Graph, objects *Objects, m *Model, settings Settings) *Mesh {
	if len(settings.ReservedRanges) == 0 {
		settings.ReservedRanges = DefaultReservedRanges()
	}
	equalModes := func(a, b model.DNSMode) bool { return a == b }
	mesh := &Mesh{
		Model: m, viewRelations: newViewRelations(g), settings: settings,
		ResolvedDestinations: incremental.NewRelation[model.Key](g, "resolved destinations",
			func(model.ResolvedDestination, model.ResolvedDestination) int { return 0 },
			deepEqual[model.ResolvedDestination]),
		Pods: incremental.NewRelation[string](g, "pods", Pod.compare, func(a, b Pod) bool {
			return a == b
		}),
		Classes: incremental.NewRelation[model.Key](g, "classes", strings.Compare, func(a, b string) bool {
			return a == b
		}),
		instances: incremental.NewRelation[model.Key](g, "instances", compareEndpoints,
			deepEqual[model.Endpoint]),
		groups: incremental.NewRelation[model.Key](g, "groups", compareEndpoints,
			deepEqual[model.Endpoint]),
		services: incremental.NewRelation[string](g, "services of a mesh", func(a, b model.Service) int {
			return strings.Compare(a.Name, b.Name)
		}, deepEqual[model.Service]),
		addressed: incremental.NewRelation[model.Key](g, "addressed services", func(a, b model.Service) int {
			return 0
		}, deepEqual[model.Service]),
		reservedNames: incremental.NewRelation[allKey](g, "names without address", strings.Compare,
			func(a, b string) bool { return a == b }),
		reserved: incremental.NewRelation[string](g, "reserved addresses", netip.Addr.Compare,
			func(a, b netip.Addr) bool { return a == b }),
		podModes:        incremental.NewRelation[model.Key](g, "DNS modes of pods", compareModes, equalModes),
		modes:           incremental.NewRelation[model.Key](g, "DNS modes", compareModes, equalModes),
		clusterServices: Of[*corev1.Service](objects),
		pods:            Of[*corev1.Pod](objects),
	}
	mesh.ResolvedDestinations.TrackChanges()
	mesh.Pods.TrackChanges()
	mesh.Classes.TrackChanges()
	mesh.Findings.TrackChanges()
	mesh.Members.TrackChanges()
	incremental.AddRule(g, "instance", m.Endpoints, mesh.instance)
	incremental.AddRule(g, "DNS mode", mesh.podModes, mesh.selectMode)
	incremental.AddRule(g, "names without address", m.Services, mesh.requestAddress)
	incremental.AddRule(g, "reserved addresses", mesh.reservedNames, mesh.allocateReserved)
	incremental.AddRule(g, "service", m.Services, mesh.addressService)
	incremental.AddRule(g, "resolved destination", m.Destinations, mesh.resolveDestination)
	mesh.addViewRules(g)
	return mesh
}

// instance adds an endpoint to its workload and groups, and records the workload and sidecarClass of its pod. If
// workloads of two dialects select a pod, it belongs to the first in canonical order, and both get a finding.
func (m *Mesh) instance(t *incremental.Evaluation, _ model.Instance, all []model.Endpoint) {
	e := all[0]
	for _, other := range all[1:] {
		m.reportShared(t, e.Workload, other.Workload)
	}
	m.instances.Emit(t, e.Workload, e)
	for _, group := range e.Groups {
		m.groups.Emit(t, model.Key{Mesh: e.Workload.Mesh, Name: group}, e)
	}
	m.addPod(t, e)
}

// reportShared reports that two workloads select the same pods. The text has no pod name: one finding covers all pods.
func (m *Mesh) reportShared(t *incremental.Evaluation, keeps, loses model.Key) {
	kept, ok1 := m.Workloads.ReadFirst(t, keeps)
	lost, ok2 := m.Workloads.ReadFirst(t, loses)
	if !ok1 || !ok2 || keeps == loses {
		return
	}
	first := model.NewFinding(kept.Origin, model.CodeSelectorConflict,
		fmt.Sprintf("pods of it are selected by %s too; they stay with this object", lost.Origin.Object))
	first.Severity = model.Warning
	m.Report(t, first)
	m.Report(t, model.NewFinding(lost.Origin, model.CodeSelectorConflict,
		fmt.Sprintf("pods that it selects belong to %s already", kept.Origin.Object)))
}

func (m *Mesh) resolveDestination(t *incremental.Evaluation, key model.Key, all []model.Destination) {
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
	m.ResolvedDestinations.Emit(t, key, model.ResolveDestination(mesh, d, endpoints))
}

// reader implements model.Catalog and model.OutboundCatalog for a rule: reads become dependencies of the evaluation.
type reader struct {
	t *incremental.Evaluation
	m *Mesh
}

func (r reader) Mesh(name string) (model.Mesh, bool) { return r.m.Meshes.ReadFirst(r.t, name) }
func (r reader) Workload(key model.Key) (model.Workload, bool) {
	w, ok := r.m.Workloads.ReadFirst(r.t, key)
	w.DNS = r.m.modeOf(r.m.modes.ReadFirst(r.t, key))
	return w, ok
}
func (r reader) Service(key model.Key) (model.Service, bool) {
	return r.m.addressed.ReadFirst(r.t, key)
}
func (r reader) ReachableService(key model.Key) (*model.ReachableService, bool) {
	return r.m.reachable.ReadFirst(r.t, key)
}
func (r reader) Services(mesh string) []model.Service      { return r.m.services.Read(r.t, mesh) }
func (r reader) Router(key model.Key) (model.Router, bool) { return r.m.Routers.ReadFirst(r.t, key) }
func (r reader) Destination(k model.Key) (model.Destination, bool) {
	d, ok := r.m.Destinations.ReadFirst(r.t, k)
	if name, is := ServiceName(d.Discovery.DNSName, ""); is {
		if _, known := r.m.clusterServices.ReadFirst(r.t, name); known {
			d.Discovery.DNSName = "" // the DNS of the cluster answers it
		}
	}
	return d, ok
}
func (r reader) AuthorizationPolicies(workload model.Key) []model.AuthorizationPolicy {
	return r.m.AuthorizationPolicies.Read(r.t, workload)
}

// Snapshot returns a copy of the model in canonical order.
func (m *Model) Snapshot() *model.Model {
	out := &model.Model{}
	collect(m.Meshes, &out.Meshes)
	collect(m.Workloads, &out.Workloads)
	collect(m.Services, &out.Services)
	collect(m.Routers, &out.Routers)
	collect(m.Destinations, &out.Destinations)
	collect(m.Endpoints, &out.Endpoints)
	m.AuthorizationPolicies.ForEach(func(_ model.Key, all []model.AuthorizationPolicy) {
		out.AuthorizationPolicies = append(out.AuthorizationPolicies, all...)
	})
	return out.Canonical()
}

// Snapshot returns a copy of the model in canonical order, with the addresses of services and the DNS modes of
// workloads.
func (m *Mesh) Snapshot() *model.Model {
	out := m.Model.Snapshot()
	for i := range out.Workloads {
		w := &out.Workloads[i]
		w.DNS = m.modeOf(m.modes.GetFirst(w.Key))
	}
	out.Services = nil
	collect(m.addressed, &out.Services)
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

// FindingsOf lists the distinct findings about an object.
func (m *Model) FindingsOf(ref model.ObjectRef) []model.Finding {
	return slices.Compact(slices.Clone(m.Findings.Get(ref)))
}
