package describe

import (
	"cmp"
	"slices"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Router is the description of a router.
type Router struct {
	Mesh   string       `json:"mesh"`
	Name   string       `json:"name"`
	Origin model.Origin `json:"origin"`
	Ports  []Port       `json:"ports,omitempty"`
	// Services are the services that use the router.
	Services  []Member        `json:"services,omitempty"`
	ReachedBy []Caller        `json:"reachedBy,omitempty"`
	Status    []Condition     `json:"status,omitempty"`
	Findings  []model.Finding `json:"findings,omitempty"`
}

// OfRouter describes a router.
func OfRouter(s *engine.State, router model.Router) Router {
	out := Router{
		Mesh: router.Mesh, Name: router.Name, Origin: router.Origin, Ports: routerPorts(s, router),
		Status:   conditions(s, router.Origin.Object),
		Findings: findings(s, map[model.ObjectRef]bool{router.Origin.Object: true}),
	}
	for _, v := range s.Index.Model.Services {
		if v.Mesh == router.Mesh && v.Router == router.Name {
			out.Services = append(out.Services, Member{Name: v.Name, Object: v.Origin.Object})
		}
	}
	out.ReachedBy = callers(s, router.Mesh, func(b model.Binding, d *model.Destination) bool {
		return d == nil && slices.ContainsFunc(out.Services, func(v Member) bool { return v.Name == b.Service })
	})
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
