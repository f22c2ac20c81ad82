package model

// Index finds the items of a model by key. It shares the model's memory; treat both as read-only.
type Index struct {
	Model        *Model
	meshes       map[string]*Mesh
	workloads    map[Key]*Workload
	services     map[Key]*Service
	routers      map[Key]*Router
	destinations map[Key]*Destination
	endpoints    map[Key][]Endpoint // by workload
	groups       map[Key][]Endpoint // by mesh and name of the group
	accesses     map[Key][]Access
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
		accesses:     make(map[Key][]Access),
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
	for _, e := range m.Endpoints {
		ix.endpoints[e.Workload] = append(ix.endpoints[e.Workload], e)
		for _, group := range e.Groups {
			key := Key{e.Workload.Mesh, group}
			ix.groups[key] = append(ix.groups[key], e)
		}
	}
	for _, a := range m.Accesses {
		key := Key{a.Mesh, a.Workload}
		ix.accesses[key] = append(ix.accesses[key], a)
	}
	return ix
}

// Workload finds a workload.
func (ix *Index) Workload(key Key) (Workload, bool) {
	w, ok := ix.workloads[key]
	if !ok {
		return Workload{}, false
	}
	return *w, true
}

// Endpoints gives the running instances of a workload.
func (ix *Index) Endpoints(workload Key) []Endpoint { return ix.endpoints[workload] }

// Reached gives the endpoints of a destination that is found by instances, ready or not, in canonical order.
func (ix *Index) Reached(d Destination) []Endpoint {
	if d.Discovery.Group == "" {
		return ix.endpoints[Key{d.Mesh, d.Workload}]
	}
	return ix.groups[Key{d.Mesh, d.Discovery.Group}]
}
