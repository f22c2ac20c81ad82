package model

import "slices"

// Index finds the items of a model by key. It shares memory with the model; both are read-only.
type Index struct {
	Model        *Model
	meshes       map[string]*Mesh
	workloads    map[Key]*Workload
	services     map[Key]*Service
	routers      map[Key]*Router
	destinations map[Key]*Destination
	endpoints    map[Key][]Endpoint // by workload
	groups       map[Key][]Endpoint // by mesh and name of the group
	policies     map[Key][]AuthorizationPolicy

	serviceGroups map[Key]*ServiceGroup
}

// NewIndex indexes a canonical model.
func NewIndex(m *Model) *Index {
	ix := &Index{
		Model:        m,
		meshes:       make(map[string]*Mesh, len(m.Meshes)),
		workloads:    make(map[Key]*Workload, len(m.Workloads)),
		services:     make(map[Key]*Service, len(m.Services)),
		routers:      make(map[Key]*Router, len(m.Routers)),
		destinations: make(map[Key]*Destination, len(m.Destinations)),
		endpoints:    make(map[Key][]Endpoint),
		groups:       make(map[Key][]Endpoint),
		policies:     make(map[Key][]AuthorizationPolicy),

		serviceGroups: make(map[Key]*ServiceGroup, len(m.ServiceGroups)),
	}
	for i := range m.Meshes {
		ix.meshes[m.Meshes[i].Name] = &m.Meshes[i]
	}
	for i := range m.Workloads {
		ix.workloads[m.Workloads[i].Key] = &m.Workloads[i]
	}
	for i := range m.Services {
		ix.services[m.Services[i].Key] = &m.Services[i]
	}
	for i := range m.Routers {
		ix.routers[m.Routers[i].Key] = &m.Routers[i]
	}
	for i := range m.Destinations {
		ix.destinations[m.Destinations[i].Key] = &m.Destinations[i]
	}
	for i := range m.ServiceGroups {
		ix.serviceGroups[m.ServiceGroups[i].Key] = &m.ServiceGroups[i]
	}
	for _, e := range m.Endpoints {
		ix.endpoints[e.Workload] = append(ix.endpoints[e.Workload], e)
		for _, group := range e.Groups {
			key := Key{e.Workload.Mesh, group}
			ix.groups[key] = append(ix.groups[key], e)
		}
	}
	for _, a := range m.AuthorizationPolicies {
		key := Key{a.Mesh, a.Workload}
		ix.policies[key] = append(ix.policies[key], a)
	}
	return ix
}

// Mesh finds a mesh.
func (ix *Index) Mesh(name string) (Mesh, bool) { return found(ix.meshes[name]) }

// Workload finds a workload.
func (ix *Index) Workload(key Key) (Workload, bool) { return found(ix.workloads[key]) }

// Service finds a service.
func (ix *Index) Service(key Key) (*Service, bool) {
	s, ok := ix.services[key]
	return s, ok
}

// Services lists the services of a mesh by name.
func (ix *Index) Services(mesh string) []Service {
	return slices.DeleteFunc(slices.Clone(ix.Model.Services), func(s Service) bool { return s.Mesh != mesh })
}

// ServiceNames lists the names of the services of a mesh that are not private, sorted.
func (ix *Index) ServiceNames(mesh string) (names []string) {
	for _, s := range ix.Model.Services {
		if s.Mesh == mesh && !s.Private {
			names = append(names, s.Name)
		}
	}
	return names
}

// Router finds a router.
func (ix *Index) Router(key Key) (Router, bool) { return found(ix.routers[key]) }

// RequestPorts lists the ports of a service that take requests, in order.
func (ix *Index) RequestPorts(service Key) []uint16 {
	s, ok := NewReachableService(ix, service)
	if !ok {
		return nil
	}
	return s.RequestPorts()
}

// Destination finds a destination.
func (ix *Index) Destination(key Key) (*Destination, bool) {
	d, ok := ix.destinations[key]
	return d, ok
}

// ServiceGroup finds a group of services.
func (ix *Index) ServiceGroup(key Key) (ServiceGroup, bool) { return found(ix.serviceGroups[key]) }

// AuthorizationPolicies returns the policies of a workload.
func (ix *Index) AuthorizationPolicies(workload Key) []AuthorizationPolicy {
	return ix.policies[workload]
}

// Endpoints returns the endpoints of a workload.
func (ix *Index) Endpoints(workload Key) []Endpoint { return ix.endpoints[workload] }

// ResolvedDestination returns a destination with its ready endpoints. It reports false if the destination does not
// exist.
func (ix *Index) ResolvedDestination(destination Key) (ResolvedDestination, bool) {
	d, ok := ix.Destination(destination)
	if !ok {
		return ResolvedDestination{}, false
	}
	mesh, ok := ix.Mesh(d.Mesh)
	if !ok {
		return ResolvedDestination{}, false
	}
	return ResolveDestination(mesh, *d, slices.Values(ix.DiscoveredEndpoints(*d))), true
}

// DiscoveredEndpoints returns the endpoints of a destination, ready or not. It returns nil unless Discovery.Kind is
// DiscoverInstances.
func (ix *Index) DiscoveredEndpoints(d Destination) []Endpoint {
	switch {
	case d.Discovery.Kind != DiscoverInstances:
		return nil
	case d.Discovery.Group == "":
		return ix.endpoints[Key{d.Mesh, d.Workload}]
	case len(d.Discovery.Identities) == 0:
		return ix.groups[Key{d.Mesh, d.Discovery.Group}]
	}
	return slices.DeleteFunc(slices.Clone(ix.groups[Key{d.Mesh, d.Discovery.Group}]), func(e Endpoint) bool {
		return !d.includes(&e)
	})
}

func found[T any](item *T) (T, bool) {
	if item == nil {
		var none T
		return none, false
	}
	return *item, true
}
