package describe

import (
	"slices"

	"anymesh.dev/anymesh/internal/cli/phrases"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// routes describes routes.
func routes(s *engine.State, mesh string, all []model.Route) []Route {
	var out []Route
	for _, r := range all {
		out = append(out, routeOf(s, mesh, r))
	}
	return out
}

func routeOf(s *engine.State, mesh string, r model.Route) Route {
	out := Route{Name: r.Name, Match: phrases.Match(r.Match), Origin: r.Origin}
	if target := r.Action.Service; target != nil {
		out.Rewrites = phrases.Rewrites(r.Action.Rewrite)
		out.Service = &ServiceTarget{ServiceTarget: *target}
		for _, v := range s.Index.Model.Services {
			if v.Mesh == mesh && v.Name == target.Service {
				out.Service.Object = v.Origin.Object()
			}
		}
		return out
	}
	var total uint32
	for _, t := range r.Action.Destinations {
		total += t.Weight
	}
	for _, t := range r.Action.Destinations {
		target := Target{Destination: t.Destination, Object: t.Origin.Object(), Share: phrases.Share(t.Weight, total)}
		if d, ok := destination(s, mesh, t.Destination); ok {
			target.Port, target.Object = d.Port, d.Origin.Object()
		}
		out.Targets = append(out.Targets, target)
	}
	if len(out.Targets) == 0 {
		return out
	}
	out.Rewrites = phrases.Rewrites(r.Action.Rewrite)
	out.Timeouts = timeouts(r.Protocol, r.Action.Timeouts)
	if r.Protocol.Requests() {
		out.Retries = phrases.Retry(r.Action.Retry)
	}
	return out
}

func destination(s *engine.State, mesh, name string) (model.Destination, bool) {
	all := s.Index.Model.Destinations
	i, ok := slices.BinarySearchFunc(all, model.Key{Mesh: mesh, Name: name},
		func(d model.Destination, k model.Key) int { return d.Compare(k) })
	if !ok {
		return model.Destination{}, false
	}
	return all[i], true
}
