package describe

import (
	"cmp"
	"slices"

	"anymesh.dev/anymesh/internal/cli/phrases"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Router is the description of a router.
type Router struct {
	Mesh   string       `json:"mesh"`
	Name   string       `json:"name"`
	Origin model.Origin `json:"origin"`
	Ports  []Port       `json:"ports,omitempty"`
	// Services are the services that use the router, Gateways the workloads whose listeners use it.
	Services  []Member        `json:"services,omitempty"`
	Gateways  []Member        `json:"gateways,omitempty"`
	ReachedBy []Caller        `json:"reachedBy,omitempty"`
	Status    []Condition     `json:"status,omitempty"`
	Findings  []model.Finding `json:"findings,omitempty"`

	kinds dialect.KindNames
}

// OfRouter describes a router.
func OfRouter(s *engine.State, router model.Router) Router {
	out := Router{
		Mesh: router.Mesh, Name: router.Name, Origin: router.Origin, Ports: routerPorts(s, router),
		Status: conditions(s, router.Origin.Object()), kinds: dialect.KindNamesOfObjects(s.Objects),
		Findings: findingsAbout(s, map[model.ObjectRef]bool{router.Origin.Object(): true}),
	}
	for _, v := range s.Index.Model.Services {
		if v.Mesh == router.Mesh && v.Router == router.Name {
			out.Services = append(out.Services, Member{Name: v.Name, Object: v.Origin.Object()})
		}
	}
	for _, w := range s.Index.Model.Workloads {
		listens := slices.ContainsFunc(w.Listeners, func(l model.Listener) bool { return l.Router == router.Name })
		if w.Mesh == router.Mesh && listens {
			out.Gateways = append(out.Gateways, Member{Name: w.Name, Object: w.Origin.Object()})
			out.Ports = append(out.Ports, listenerPorts(s, w, router)...)
		}
	}
	out.ReachedBy = callers(s, router.Mesh, func(b model.Binding, d *model.Destination) bool {
		return d == nil && slices.ContainsFunc(out.Services, func(v Member) bool { return v.Name == b.Service })
	})
	return out
}

// listenerPorts returns the ports of the listeners of a workload that use a router, each with its routes.
func listenerPorts(s *engine.State, w model.Workload, router model.Router) []Port {
	var out []Port
	for _, in := range s.Views[w.Key].Inbound {
		if in.Listener.Router == router.Name {
			out = append(out, listenerPort(s, w, in))
		}
	}
	return out
}

// listenerPort describes a listener of a workload.
func listenerPort(s *engine.State, w model.Workload, in model.Inbound) Port {
	l := in.Listener
	out := Port{
		Port: l.Port, Protocol: l.Protocol, Origin: l.Origin, Routes: routes(s, w.Mesh, in.Routes),
		CircuitBreaker: l.CircuitBreaker,
	}
	for _, d := range s.Index.Model.Destinations {
		if d.Mesh == w.Mesh && d.Workload == w.Name && d.Port == l.Port {
			out.Health = phrases.Health(d)
		}
	}
	if l.TLS != nil {
		out.TLS = l.TLS.Mode
	}
	if l.Router == "" {
		out.Timeouts = timeouts(l.Protocol, l.Timeouts)
	}
	return out
}

// routerPorts returns the ports of a router, each with its routes.
func routerPorts(s *engine.State, router model.Router) []Port {
	var out []Port
	for _, p := range router.Ports {
		var own []model.Route
		for _, r := range router.Routes {
			if r.Protocol == p.Protocol && (r.Port == 0 || r.Port == p.Port) {
				own = append(own, r)
			}
		}
		out = append(out,
			Port{Port: p.Port, Protocol: p.Protocol, Origin: p.Origin, Routes: routes(s, router.Mesh, own)})
	}
	slices.SortStableFunc(out, func(a, b Port) int { return cmp.Compare(a.Port, b.Port) })
	return out
}
