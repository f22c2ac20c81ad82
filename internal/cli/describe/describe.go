// Package describe describes workloads, services, routers, meshes and objects.
//
// In: the state of the mesh, and a mesh item or an object that a dialect reads. Out: its ports, what it can reach and
// what can reach it, with the object and field that define each entry, its status in the cluster, and its findings.
package describe

import (
	"cmp"

	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/names"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Workload is the description of a workload.
type Workload struct {
	lookup.Workload
	// Drivers are the sidecar drivers of its pods; empty if all use the default driver.
	Drivers   []string         `json:"drivers,omitempty"`
	Egress    model.Egress     `json:"egress"`
	Inbound   []Port           `json:"inbound,omitempty"`
	Instances []model.Endpoint `json:"instances,omitempty"`
	// WithoutSidecar are the pods that have none.
	WithoutSidecar []BarePod `json:"withoutSidecar,omitempty"`
	Reaches        []Port    `json:"reaches,omitempty"`
	// Names are the names that the agents of its pods answer. Names without addresses get one in the cluster.
	Names     []model.Host    `json:"names,omitempty"`
	ReachedBy []Caller        `json:"reachedBy,omitempty"`
	Status    []Condition     `json:"status,omitempty"`
	Findings  []model.Finding `json:"findings,omitempty"`

	kinds dialect.KindNames
}

// Port is a port of a listener or of a service.
type Port struct {
	Service  string         `json:"service,omitempty"`
	Port     uint16         `json:"port"`
	Protocol model.Protocol `json:"protocol"`
	// Through is the group of backends that makes a service reachable; nil without one.
	Through *model.ObjectRef `json:"through,omitempty"`
	// TLS is the mode of the TLS that a listener serves; empty for none.
	TLS model.TLSMode `json:"tls,omitempty"`
	// Health are the health check and the outlier detection of clients, as text.
	Health []string `json:"health,omitempty"`
	// CircuitBreaker has the limits of a listener.
	CircuitBreaker *model.CircuitBreaker `json:"circuitBreaker,omitempty"`
	// Timeouts are text; empty if the routes define timeouts.
	Timeouts string       `json:"timeouts,omitempty"`
	Routes   []Route      `json:"routes,omitempty"`
	Origin   model.Origin `json:"origin"`
}

// Route is the description of a route.
type Route struct {
	Name  string `json:"name"`
	Match string `json:"match"`
	// Targets are destinations, or Service is a service with routes of its own, of which only gateways have routes.
	Targets []Target       `json:"targets,omitempty"`
	Service *ServiceTarget `json:"service,omitempty"`
	// Rewrites are the changes of requests.
	Rewrites []string `json:"rewrites,omitempty"`
	// Retries and Timeouts are text; empty if the service defines them, or without targets.
	Retries  string       `json:"retries,omitempty"`
	Timeouts string       `json:"timeouts,omitempty"`
	Origin   model.Origin `json:"origin"`
}

// ServiceTarget is the service that a route of a gateway targets.
type ServiceTarget struct {
	model.ServiceTarget
	Object model.ObjectRef `json:"object"`
}

// Target is a destination of a route. Share is a percentage.
type Target struct {
	Destination string          `json:"destination"`
	Object      model.ObjectRef `json:"object"`
	Port        uint16          `json:"port,omitempty"`
	Share       string          `json:"share"`
}

// Caller is a workload that can reach the described item, with the service and route that it uses.
type Caller struct {
	Workload model.Key       `json:"workload"`
	Object   model.ObjectRef `json:"object"`
	Service  string          `json:"service"`
	Port     uint16          `json:"port"`
	Route    string          `json:"route,omitempty"`
	Share    string          `json:"share,omitempty"`
}

// OfWorkload describes a workload. defaultDriver is the sidecar driver of pods that do not name one.
func OfWorkload(s *engine.State, w lookup.Workload, defaultDriver string) Workload {
	view := s.Views[w.Key]
	out := Workload{
		Workload: w, Egress: view.Mesh.Egress, Instances: instances(s, w.Key, templates(s)),
		Status: conditions(s, w.Origin.Object()), kinds: dialect.KindNamesOfObjects(s.Objects),
	}
	out.WithoutSidecar = barePods(s, w, out.Instances)
	out.Drivers = s.Drivers(w.Key, defaultDriver)
	if w.Pod != nil {
		out.Drivers = []string{cmp.Or(s.ClassOf(w.Pod.Instance.UID), defaultDriver)}
	}
	if len(out.Drivers) == 1 && out.Drivers[0] == defaultDriver {
		out.Drivers = nil
	}
	about := map[model.ObjectRef]bool{w.Origin.Object(): true}
	for _, in := range view.Inbound {
		out.Inbound = append(out.Inbound, listenerPort(s, view.Workload, in))
	}
	for _, o := range view.Outbound {
		for _, b := range o.Bindings {
			out.Reaches = append(out.Reaches, Port{
				Service: b.Service, Port: o.Port, Protocol: b.Protocol, Origin: b.Origin,
				Through: s.Index.Through(view.View, b.Service), Routes: routes(s, view.Mesh.Name, b.Routes),
			})
		}
	}
	if w.DNS != model.DNSOff && w.Role != model.RoleGateway {
		for _, h := range view.Hosts {
			h.Addresses = names.Known(h.Addresses)
			out.Names = append(out.Names, h)
		}
	}
	ownDestination := func(d model.Destination) bool { return d.Workload == w.Name }
	out.ReachedBy = callers(s, w.Mesh, func(_ model.Binding, d *model.Destination) bool {
		return d != nil && ownDestination(*d)
	})
	out.Findings = findingsAbout(s, about)
	return out
}

// Service is the description of a service.
type Service struct {
	model.Service
	Names     []Name          `json:"names"`
	Ports     []Port          `json:"ports,omitempty"`
	ReachedBy []Caller        `json:"reachedBy,omitempty"`
	Status    []Condition     `json:"status,omitempty"`
	Findings  []model.Finding `json:"findings,omitempty"`

	kinds dialect.KindNames
}

// OfService describes a service.
func OfService(s *engine.State, service model.Service) Service {
	out := Service{
		Service: service, Status: conditions(s, service.Origin.Object()), kinds: dialect.KindNamesOfObjects(s.Objects),
		Names: namesOf(s, names.NewResolver(s), service),
	}
	out.Addresses = names.Known(service.Addresses)
	about := map[model.ObjectRef]bool{service.Origin.Object(): true}
	for _, router := range s.Index.Model.Routers {
		if router.Mesh != service.Mesh || router.Name != service.Router {
			continue
		}
		about[router.Origin.Object()] = true
		out.Ports = append(out.Ports, routerPorts(s, router)...)
	}
	out.ReachedBy = callers(s, service.Mesh, func(b model.Binding, d *model.Destination) bool {
		return d == nil && b.Service == service.Name
	})
	out.Findings = findingsAbout(s, about)
	return out
}

// Mesh is the description of a mesh.
type Mesh struct {
	model.Mesh
	Workloads []Member        `json:"workloads,omitempty"`
	Services  []Member        `json:"services,omitempty"`
	Status    []Condition     `json:"status,omitempty"`
	Findings  []model.Finding `json:"findings,omitempty"`

	kinds dialect.KindNames
}

// Member is a workload or a service of a mesh.
type Member struct {
	Name   string          `json:"name"`
	Object model.ObjectRef `json:"object"`
	// Listens are ports with protocols.
	Listens []string `json:"listens,omitempty"`
	// Names are those of a service.
	Names []Name `json:"names,omitempty"`
	// Ready and Instances count a workload's pods.
	Ready     int `json:"ready,omitempty"`
	Instances int `json:"instances,omitempty"`
}

// OfMesh describes a mesh. Its findings are those of all its members.
func OfMesh(s *engine.State, mesh model.Mesh) Mesh {
	out := Mesh{
		Mesh: mesh, Status: conditions(s, mesh.Origin.Object()), kinds: dialect.KindNamesOfObjects(s.Objects),
	}
	about := map[model.ObjectRef]bool{mesh.Origin.Object(): true}
	m, unused := s.Index.Model, templates(s)
	for _, w := range m.Workloads {
		if w.Mesh != mesh.Name {
			continue
		}
		about[w.Origin.Object()] = true
		member := Member{Name: w.Name, Object: w.Origin.Object()}
		for _, l := range w.Listeners {
			member.Listens = append(member.Listens, portName(l.Port, l.Protocol))
		}
		for _, e := range instances(s, w.Key, unused) {
			member.Instances++
			if e.Ready {
				member.Ready++
			}
		}
		out.Workloads = append(out.Workloads, member)
	}
	resolver := names.NewResolver(s)
	for _, service := range m.Services {
		if service.Mesh != mesh.Name {
			continue
		}
		about[service.Origin.Object()] = true
		member := Member{
			Name: service.Name, Object: service.Origin.Object(), Names: namesOf(s, resolver, service),
		}
		for _, r := range m.Routers {
			if r.Mesh == mesh.Name && r.Name == service.Router {
				about[r.Origin.Object()] = true
				for _, p := range r.Ports {
					member.Listens = append(member.Listens, portName(p.Port, p.Protocol))
				}
			}
		}
		out.Services = append(out.Services, member)
	}
	out.Findings = findingsAbout(s, about)
	return out
}
