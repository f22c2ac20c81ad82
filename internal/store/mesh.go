package store

import (
	"iter"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// Mesh is derived from the model: the input for the configuration of sidecars.
type Mesh struct {
	*Model
	viewRelations
	// ResolvedDestinations have what ResolvedDestination composes.
	ResolvedDestinations *incremental.Relation[model.Key, *resolvedDestination]
	// Pods holds the workload and sidecarClass of each pod, by pod UID.
	Pods *incremental.Relation[string, Role]
	// Classes lists the sidecarClasses of a workload's pods, one entry per pod. ClassesOf removes duplicates.
	Classes *incremental.Relation[model.Key, string]

	settings Settings
	// instances and groups are references to Endpoints, by workload, and by mesh and name of the group.
	instances, groups *incremental.Relation[model.Key, *model.Endpoint]
	// headless are the headless Services of a namespace, and servicePods the pods that each selects.
	headless     *incremental.Relation[string, headlessService]
	servicePods  *incremental.Relation[types.NamespacedName, servicePod]
	serviceNames *incremental.Relation[string, string] // by mesh
	// addressed are the services of the model with their addresses.
	addressed *incremental.Relation[model.Key, model.Service]
	// reservedNames are the names that need a reserved address, reserved the addresses of each.
	reservedNames *incremental.Relation[allKey, string]
	reserved      *incremental.Relation[string, netip.Addr]
	// podModes has the mode of each pod by workload, modes the one that applies.
	podModes, modes *incremental.Relation[model.Key, model.DNSMode]
	clusterServices *incremental.Relation[types.NamespacedName, *corev1.Service]
	pods            *incremental.Relation[types.NamespacedName, *Pod]
}

// NewMesh adds the rules that derive the mesh from the model.
func NewMesh(g *incremental.Graph, objects *Objects, m *Model, settings Settings) *Mesh {
	if len(settings.ReservedRanges) == 0 {
		settings.ReservedRanges = DefaultReservedRanges()
	}
	equalModes := func(a, b model.DNSMode) bool { return a == b }
	mesh := &Mesh{
		Model: m, viewRelations: newViewRelations(g), settings: settings,
		ResolvedDestinations: incremental.NewRelation[model.Key](g, "resolved destinations",
			func(_, _ *resolvedDestination) int { return 0 }, deepEqual[*resolvedDestination]),
		Pods: incremental.NewRelation[string](g, "pods", Role.compare, func(a, b Role) bool {
			return a == b
		}),
		Classes: incremental.NewRelation[model.Key](g, "classes", strings.Compare, func(a, b string) bool {
			return a == b
		}),
		instances: endpointReferences(g, "instances"), groups: endpointReferences(g, "groups"),
		headless: incremental.NewRelation[string](g, "headless Services", headlessService.compare,
			func(a, b headlessService) bool { return a == b }),
		servicePods: incremental.NewRelation[types.NamespacedName](g, "pods of headless Services", servicePod.compare,
			func(a, b servicePod) bool { return a == b }),
		serviceNames: incremental.NewRelation[string](g, "services of a mesh", strings.Compare,
			func(a, b string) bool { return a == b }),
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
		pods:            Of[*Pod](objects),
	}
	mesh.ResolvedDestinations.TrackChanges()
	mesh.Pods.TrackChanges()
	mesh.Classes.TrackChanges()
	mesh.Findings.TrackChanges()
	mesh.Members.TrackChanges()
	mesh.addHeadlessRule(g)
	mesh.addInstanceRule(g)
	mesh.addModeRule(g)
	mesh.addServiceRules(g)
	mesh.addDestinationRule(g)
	mesh.addViewRules(g)
	mesh.addClaimRules(g)
	mesh.addFailureRule(g, objects)
	return mesh
}

// endpointReferences creates a relation with references to Endpoints.
func endpointReferences(g *incremental.Graph, name string) *incremental.Relation[model.Key, *model.Endpoint] {
	return incremental.NewRelation[model.Key](g, name, func(a, b *model.Endpoint) int { return a.Compare(*b) },
		deepEqual[*model.Endpoint])
}

func dereference(all []*model.Endpoint) iter.Seq[model.Endpoint] {
	return func(yield func(model.Endpoint) bool) {
		for _, e := range all {
			if !yield(*e) {
				return
			}
		}
	}
}

// destinationRule adds the endpoints to destinations.
type destinationRule struct {
	meshes            *incremental.Reader[string, model.Mesh]
	instances, groups *incremental.Reader[model.Key, *model.Endpoint]
	resolved          *incremental.Emitter[model.Key, *resolvedDestination]
}

func (m *Mesh) addDestinationRule(g *incremental.Graph) {
	r := incremental.NewRule(g, "resolved destination")
	incremental.Each(r, m.Destinations, destinationRule{
		incremental.Reads(r, m.Meshes), incremental.Reads(r, m.instances), incremental.Reads(r, m.groups),
		incremental.Emits(r, m.ResolvedDestinations),
	}, destinationRule.evaluate)
}

// resolvedDestination refers to the entries that a model.ResolvedDestination consists of.
type resolvedDestination struct {
	mesh        *model.Mesh
	destination *model.Destination
	endpoints   []*model.Endpoint // those that are ready
}

func (r destinationRule) evaluate(key model.Key, all []model.Destination) {
	d := &all[0]
	meshes := r.meshes.Read(key.Mesh)
	if len(meshes) == 0 {
		return
	}
	var endpoints []*model.Endpoint
	switch {
	case d.Discovery.Kind != model.DiscoverInstances:
	case d.Discovery.Group == "":
		endpoints = r.instances.Read(model.Key{Mesh: key.Mesh, Name: d.Workload})
	default:
		endpoints = r.groups.Read(model.Key{Mesh: key.Mesh, Name: d.Discovery.Group})
	}
	// Changes of endpoints without traffic do not change the result.
	idle := func(e *model.Endpoint) bool { return !d.Takes(e) }
	if slices.ContainsFunc(endpoints, idle) {
		endpoints = slices.DeleteFunc(slices.Clone(endpoints), idle)
	}
	r.resolved.Emit(key, &resolvedDestination{&meshes[0], d, endpoints})
}

// ResolvedDestination returns a destination with its ready endpoints.
func (m *Mesh) ResolvedDestination(key model.Key) (model.ResolvedDestination, bool) {
	r, ok := m.ResolvedDestinations.GetFirst(key)
	if !ok {
		return model.ResolvedDestination{}, false
	}
	return model.ResolveDestination(*r.mesh, *r.destination, dereference(r.endpoints)), true
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
	collect(m.ServiceGroups, &out.ServiceGroups)
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
		w.DNS = m.settings.modeOf(m.modes.GetFirst(w.Key))
	}
	out.Services, out.Endpoints = nil, nil
	collect(m.addressed, &out.Services)
	m.instances.ForEach(func(_ model.Key, all []*model.Endpoint) {
		out.Endpoints = slices.AppendSeq(out.Endpoints, dereference(all))
	})
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
