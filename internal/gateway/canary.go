package gateway

import (
	"reflect"

	"anymesh.dev/anymesh/model"
)

// Canary makes a path the canary of another one with the same host and path, the stable one: a part of its requests
// goes to the backend of the canary. All other settings are those of the stable path.
type Canary struct {
	// Matches select requests by a header, in this order. The first one that matches decides.
	Matches []CanaryMatch
	// Weight is the number of requests, of each Total, that the canary gets of those that no match selects. It is from
	// 0 to Total, and Total is positive.
	Weight, Total uint32
}

// CanaryMatch selects requests for the canary, or for the stable path.
type CanaryMatch struct {
	Header model.FieldMatch
	Stable bool
}

// canaryPath is a canary whose backend has a ready endpoint.
type canaryPath struct {
	Path
	destination string
}

// canaries returns the canary of each stable path, by its index. Of several, that of the oldest object is used. All
// others, and those that cannot be served, have a finding.
func (r *hostRule) canaries(host string, all, served []Path) map[int]canaryPath {
	out := map[int]canaryPath{}
	claimed := map[int]Path{}
	for _, p := range all {
		if p.Canary == nil {
			continue
		}
		i := stableOf(p, served)
		if i < 0 {
			r.notServed(p, model.CodeReferenceNotFound, "no Ingress of this gateway serves the path "+p.Match.Value+
				" of host "+host)
			continue
		}
		stable := served[i]
		if fault := p.canaryFault(stable); fault != "" {
			r.notServed(p, model.CodeInvalidField, fault)
			continue
		}
		if other, is := claimed[i]; is {
			r.notServed(p, model.CodeNameConflict, other.Origin.Object().String()+" is also a canary of the path "+
				p.Match.Value+" of host "+host+"; "+precedence(other, p)+" and is used")
			continue
		}
		claimed[i] = p
		if !reflect.DeepEqual(p.Rewrite, stable.Rewrite) || p.Timeouts != stable.Timeouts ||
			p.Fallback.Service != stable.Fallback.Service || p.Fallback.Number != stable.Fallback.Number {
			r.findings.Emit(model.NewFinding(p.Origin.At("metadata.annotations"), model.CodeFieldNotImplemented,
				"requests of a canary have the rewrite, the headers, the timeouts and the default backend of "+
					stable.Origin.Object().String()+"; those of this Ingress have no effect"))
		}
		to, _ := r.targets.ReadFirst(p.Backend)
		if to.fault != "" {
			r.notServed(p, to.code, to.fault)
		} else if to.ready || r.WithoutEndpoints {
			out[i] = canaryPath{p, to.destination}
		}
	}
	return out
}

// stableOf returns the index of the path that a canary belongs to, or -1. It is one of an Ingress.
func stableOf(canary Path, served []Path) int {
	for i, p := range served {
		if p.Match == canary.Match && p.Port == 0 {
			return i
		}
	}
	return -1
}

// canaryFault returns why a canary is not served beside a stable path, or "".
func (a Path) canaryFault(stable Path) string {
	switch {
	case a.Origin.Object().Namespace != stable.Origin.Object().Namespace:
		return "the stable one, " + stable.Origin.Object().String() + ", is in another namespace"
	case a.Secret != "" && stable.Secret == "":
		return "it requires TLS for the host, and the stable one, " + stable.Origin.Object().String() + ", does not"
	case a.Clients != nil && !reflect.DeepEqual(a.Clients, stable.Clients):
		return "it restricts the addresses of clients, and the stable one, " + stable.Origin.Object().String() +
			", has other ranges"
	}
	return ""
}

func (r *hostRule) notServed(canary Path, code model.Code, why string) {
	r.findings.Emit(model.NewFinding(canary.Origin, code, why+"; the canary is not served"))
}

// routes returns the routes of a stable path with a canary, in order: one for each match, then one for the others.
func (c canaryPath) routes(stable model.Route) []model.Route {
	var out []model.Route
	at := c.Origin
	share := func(weight uint32) model.WeightedDestination {
		return model.WeightedDestination{Destination: c.destination, Weight: weight, Origin: at}
	}
	for _, m := range c.Canary.Matches {
		route := stable
		route.Match.Headers = []model.FieldMatch{m.Header}
		route.Origin = at
		if m.Stable {
			route.Name += " stable by " + m.Header.Name
		} else {
			route.Name += " canary by " + m.Header.Name
			route.Action.Destinations = []model.WeightedDestination{share(1)}
		}
		out = append(out, route)
	}
	if len(stable.Action.Destinations) == 1 && c.Canary.Weight > 0 {
		kept := stable.Action.Destinations[0]
		kept.Weight = c.Canary.Total - c.Canary.Weight
		stable.Action.Destinations = []model.WeightedDestination{kept, share(c.Canary.Weight)}
	}
	return append(out, stable)
}
