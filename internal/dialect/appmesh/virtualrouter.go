package appmesh

import (
	"fmt"
	"math"
	"slices"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// routerRule translates VirtualRouters.
type routerRule struct {
	translator
	nodes   resolver
	ports   *incremental.Reader[model.Key, nodePort]
	routers store.Output[model.Key, model.Router]
	missing store.Output[model.Key, model.Destination]
}

// addRouters adds the rule for VirtualRouters.
func (r *rules) addRouters(g *incremental.Graph) {
	rule := incremental.NewRule(g, api.KindVirtualRouter)
	eachServed(r, rule, r.routers, &routerRule{
		r.translator(rule), r.nodes.resolver(rule), incremental.Reads(rule, r.ports), r.out.EmitsRouters(rule),
		r.out.EmitsDestinations(rule),
	}, (*routerRule).virtualRouter)
}

// virtualRouter adds the router of a VirtualRouter, with its routes in order of precedence.
func (t *routerRule) virtualRouter(m *meshMember[*api.VirtualRouter]) {
	router := model.Router{Key: m.key, Origin: m.origin}
	for i, l := range m.object.Spec.Listeners {
		at := m.origin.At(t.paths.shared(fmt.Sprintf("spec.listeners[%d]", i)))
		port, protocol, ok := t.portMapping(at, l.PortMapping)
		if !ok {
			continue
		}
		if slices.ContainsFunc(router.Ports, func(p model.RouterPort) bool { return p.Port == port }) {
			t.report(at.At(at.Path+".portMapping.port"), model.CodeInvalidField,
				"another listener of this VirtualRouter has the same port %d", port)
			continue
		}
		router.Ports = append(router.Ports, model.RouterPort{Port: port, Protocol: protocol, Origin: at})
	}
	if len(m.object.Spec.Listeners) == 0 {
		t.warn(m.origin.At("spec.listeners"), model.CodeInvalidField,
			"clients cannot reach a VirtualRouter without listeners")
	}
	var routes []prioritizedRoute
	names := map[string]int{}
	for i, r := range m.object.Spec.Routes {
		at := m.origin.At(fmt.Sprintf("spec.routes[%d]", i))
		if first, duplicate := names[r.Name]; duplicate {
			t.report(at.At(at.Path+".name"), model.CodeInvalidField,
				"spec.routes[%d] has the same name %q; this route is not served", first, r.Name)
			continue
		}
		names[r.Name] = i
		// The route is served anyway: its name has no effect.
		if text := nameError(api.KindVirtualRouter, r.Name); text != "" {
			t.report(at.At(at.Path+".name"), model.CodeInvalidField, "%s", text)
		}
		if route, ok := t.route(m.key, at, r); ok && t.hasListener(route, router.Ports) {
			t.reportMissingPort(route, router.Ports)
			routes = append(routes, prioritizedRoute{route, r.Priority})
		}
	}
	router.Routes = sortRoutes(routes)
	t.routers.Emit(router)
}

// route returns the model's route, or reports why there is none. A route with an invalid condition is omitted
// completely: without the condition it would match other requests.
func (t *routerRule) route(router model.Key, at model.Origin, r api.Route) (model.Route, bool) {
	count := 0
	for _, set := range []bool{r.HTTPRoute != nil, r.HTTP2Route != nil, r.GRPCRoute != nil, r.TCPRoute != nil} {
		if set {
			count++
		}
	}
	if count != 1 {
		t.report(at, model.CodeInvalidField,
			"%d of httpRoute, http2Route, grpcRoute and tcpRoute are set; exactly one is required", count)
		return model.Route{}, false
	}
	switch {
	case r.HTTPRoute != nil:
		return t.httpRoute(router, at.At(t.paths.shared(at.Path+".httpRoute")), r.Name, model.HTTP, r.HTTPRoute)
	case r.HTTP2Route != nil:
		return t.httpRoute(router, at.At(t.paths.shared(at.Path+".http2Route")), r.Name, model.HTTP2, r.HTTP2Route)
	case r.GRPCRoute != nil:
		return t.grpcRoute(router, at.At(t.paths.shared(at.Path+".grpcRoute")), r.Name, r.GRPCRoute)
	}
	return t.tcpRoute(router, at.At(t.paths.shared(at.Path+".tcpRoute")), r.Name, r.TCPRoute)
}

func (t *routerRule) httpRoute(router model.Key, at model.Origin, name string, protocol model.Protocol,
	r *api.HTTPRoute) (model.Route, bool) {
	match, port, ok := t.httpMatch(at.At(at.Path+".match"), r.Match)
	action := t.action(router, name, protocol, at.At(at.Path+".action.weightedTargets"), r.Action)
	action.Retry, action.Timeouts = t.settings.httpRetry(r.RetryPolicy), requestTimeouts(r.Timeout)
	if p := r.RetryPolicy; p != nil && len(p.HTTPRetryEvents)+len(p.TCPRetryEvents) == 0 {
		t.reportNoEvents(at)
	}
	return model.Route{Name: name, Port: port, Protocol: protocol, Match: match, Action: action, Origin: at}, ok
}

func (t *routerRule) grpcRoute(router model.Key, at model.Origin, name string, r *api.GRPCRoute) (model.Route, bool) {
	match, port, ok := t.grpcMatch(at.At(at.Path+".match"), r.Match)
	action := t.action(router, name, model.GRPC, at.At(at.Path+".action.weightedTargets"), r.Action)
	action.Retry, action.Timeouts = t.settings.grpcRetry(r.RetryPolicy), requestTimeouts(r.Timeout)
	if p := r.RetryPolicy; p != nil && len(p.GRPCRetryEvents)+len(p.HTTPRetryEvents)+len(p.TCPRetryEvents) == 0 {
		t.reportNoEvents(at)
	}
	return model.Route{Name: name, Port: port, Protocol: model.GRPC, Match: match, Action: action, Origin: at}, ok
}

func (t *routerRule) tcpRoute(router model.Key, at model.Origin, name string, r *api.TCPRoute) (model.Route, bool) {
	port, ok := uint16(0), true
	if r.Match != nil {
		port, ok = t.matchPort(at.At(at.Path+".match.port"), r.Match.Port)
	}
	action := t.action(router, name, model.TCP, at.At(at.Path+".action.weightedTargets"), r.Action)
	action.Timeouts = streamTimeouts(r.Timeout)
	return model.Route{Name: name, Port: port, Protocol: model.TCP, Action: action, Origin: at}, ok
}

// reportNoEvents reports a retry policy without events, which AWS refuses.
func (t *routerRule) reportNoEvents(route model.Origin) {
	t.warn(route.At(route.Path+".retryPolicy"), model.CodeInvalidField,
		"a retry policy without events: only resets are retried (AWS App Mesh refuses it); name the events")
}

// hasListener reports whether a listener matches a route, and adds a finding if none does.
func (t *translator) hasListener(r model.Route, ports []model.RouterPort) bool {
	matches := func(p model.RouterPort) bool { return p.Protocol == r.Protocol && (r.Port == 0 || r.Port == p.Port) }
	switch {
	case len(ports) == 0 || slices.ContainsFunc(ports, matches):
		return true
	case r.Port != 0:
		t.report(r.Origin.At(r.Origin.Path+".match.port"), model.CodeInvalidField,
			"the VirtualRouter has no %s listener on port %d", r.Protocol, r.Port)
	default:
		t.report(r.Origin, model.CodeInvalidField, "the VirtualRouter has no %s listener", r.Protocol)
	}
	return false
}

// reportMissingPort reports a route without a port in a VirtualRouter with several listeners. App Mesh rejected such
// routes. They are served on each listener of their protocol.
func (t *translator) reportMissingPort(r model.Route, ports []model.RouterPort) {
	if r.Port == 0 && len(ports) > 1 {
		t.report(r.Origin.At(r.Origin.Path+".match.port"), model.CodeInvalidField,
			"required if the VirtualRouter has several listeners; without it, the route is served on all %s listeners", r.Protocol)
	}
}

// action resolves the targets of a route. The share of targets that do not exist goes to a destination without
// endpoints, so that the others keep theirs: a canary does not get the requests of a version that is deleted.
func (t *routerRule) action(router model.Key, route string, protocol model.Protocol, at model.Origin,
	a api.RouteAction) (out model.Action) {
	var existing, missing int64
	var first model.Origin
	for i, w := range a.WeightedTargets {
		at := at.At(t.paths.shared(fmt.Sprintf("%s[%d]", at.Path, i)))
		if d, ok := t.target(router.Mesh, at, w); ok {
			out.Destinations = append(out.Destinations, d)
			existing += int64(d.Weight)
		} else if w.Weight > 0 {
			if missing == 0 {
				first = at
			}
			missing += w.Weight
		}
	}
	switch {
	case existing == 0 && missing == 0:
		t.report(at, model.CodeZeroWeight, "no target has a weight above 0; the route has no destination")
		out.Destinations = nil
	case existing == 0:
		out.Destinations = nil
	case missing > 0:
		d := t.missing.Emit(model.Destination{
			Key:      model.Key{Mesh: router.Mesh, Name: router.Name + "/" + route + "/missing"},
			Protocol: protocol, Discovery: model.Discovery{Kind: model.DiscoverInstances}, Origin: first,
		})
		out.Destinations = append(out.Destinations, model.WeightedDestination{
			Destination: d.Name, Weight: uint32(min(missing, math.MaxUint32)), Origin: first,
		})
	}
	return out
}

func (t *routerRule) target(mesh string, at model.Origin, w api.WeightedTarget) (model.WeightedDestination, bool) {
	node, found := t.resolve(&t.nodes, mesh, nodeReference(at, w.VirtualNodeRef, w.VirtualNodeARN))
	if !found {
		return model.WeightedDestination{}, false
	}
	if w.Weight < 0 {
		t.report(at.At(at.Path+".weight"), model.CodeInvalidField, "%d is negative", w.Weight)
		return model.WeightedDestination{}, false
	}
	ports := t.ports.Read(node.key)
	i := 0
	switch {
	case len(ports) == 0:
		t.report(at, model.CodeReferenceNotFound, "%s has no listener that clients can reach", node.origin.Object())
		return model.WeightedDestination{}, false
	case deref(w.Port) != 0:
		i = slices.IndexFunc(ports, func(d nodePort) bool { return int64(d.Port) == *w.Port })
		if i < 0 {
			t.report(at.At(at.Path+".port"), model.CodeReferenceNotFound, "%s has no listener on port %d",
				node.origin.Object(), *w.Port)
			return model.WeightedDestination{}, false
		}
	case len(ports) > 1:
		t.report(at.At(at.Path+".port"), model.CodeInvalidField, "required: %s has %d listeners",
			node.origin.Object(), len(ports))
		return model.WeightedDestination{}, false
	}
	return model.WeightedDestination{
		Destination: ports[i].Name, Weight: uint32(min(w.Weight, math.MaxUint32)), Origin: at,
	}, true
}
