package appmesh

import (
	"fmt"
	"math"
	"slices"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// virtualRouter adds the router that a VirtualRouter is, its routes in the order in which they are tried.
func (t *translator) virtualRouter(m *meshMember[*api.VirtualRouter]) {
	router := model.Router{Key: m.key, Origin: m.origin}
	for i, l := range m.object.Spec.Listeners {
		at := m.origin.At(fmt.Sprintf("spec.listeners[%d]", i))
		port, protocol, ok := t.portMapping(at, l.PortMapping)
		if !ok {
			continue
		}
		if slices.ContainsFunc(router.Ports, func(p model.RouterPort) bool { return p.Port == port }) {
			t.report(at.At(at.Path+".portMapping.port"), model.CodeInvalidField,
				"another listener of this VirtualRouter has port %d already", port)
			continue
		}
		router.Ports = append(router.Ports, model.RouterPort{Port: port, Protocol: protocol, Origin: at})
	}
	if len(m.object.Spec.Listeners) == 0 {
		t.warn(m.origin.At("spec.listeners"), model.CodeInvalidField,
			"without a listener no client can reach this VirtualRouter")
	}
	var routes []rankedRoute
	names := map[string]int{}
	for i, r := range m.object.Spec.Routes {
		at := m.origin.At(fmt.Sprintf("spec.routes[%d]", i))
		if first, again := names[r.Name]; again {
			t.report(at.At(at.Path+".name"), model.CodeInvalidField,
				"spec.routes[%d] is called %q already; this route is left out", first, r.Name)
			continue
		}
		names[r.Name] = i
		// it is served all the same: nothing hangs on the name
		if fault := nameFault(api.KindVirtualRouter, r.Name); fault != "" {
			t.report(at.At(at.Path+".name"), model.CodeInvalidField, "%s", fault)
		}
		if route, ok := t.route(m.key.Mesh, at, r); ok && t.reachable(route, router.Ports) {
			t.portStated(route, router.Ports)
			routes = append(routes, rankedRoute{route, r.Priority})
		}
	}
	router.Routes = ordered(routes)
	t.out.AddRouter(t.Evaluation, router)
}

// route gives the model's route, or reports why there is none. A route with a condition that cannot be understood is
// left out as a whole: without the condition it would take traffic that is not its own.
func (t *translator) route(mesh string, at model.Origin, r api.Route) (model.Route, bool) {
	stated := 0
	for _, set := range []bool{r.HTTPRoute != nil, r.HTTP2Route != nil, r.GRPCRoute != nil, r.TCPRoute != nil} {
		if set {
			stated++
		}
	}
	if stated != 1 {
		t.report(at, model.CodeInvalidField,
			"has %d of httpRoute, http2Route, grpcRoute and tcpRoute; keep exactly one", stated)
		return model.Route{}, false
	}
	switch {
	case r.HTTPRoute != nil:
		return t.httpRoute(mesh, at.At(at.Path+".httpRoute"), r.Name, model.HTTP, r.HTTPRoute)
	case r.HTTP2Route != nil:
		return t.httpRoute(mesh, at.At(at.Path+".http2Route"), r.Name, model.HTTP2, r.HTTP2Route)
	case r.GRPCRoute != nil:
		return t.grpcRoute(mesh, at.At(at.Path+".grpcRoute"), r.Name, r.GRPCRoute)
	}
	return t.tcpRoute(mesh, at.At(at.Path+".tcpRoute"), r.Name, r.TCPRoute)
}

func (t *translator) httpRoute(mesh string, at model.Origin, name string, protocol model.Protocol,
	r *api.HTTPRoute) (model.Route, bool) {
	match, port, ok := t.httpMatch(at.At(at.Path+".match"), r.Match)
	action := t.action(mesh, at.At(at.Path+".action.weightedTargets"), r.Action)
	action.Retry, action.Timeouts = t.settings.httpRetry(r.RetryPolicy), requestTimeouts(r.Timeout)
	return model.Route{Name: name, Port: port, Protocol: protocol, Match: match, Action: action, Origin: at}, ok
}

func (t *translator) grpcRoute(mesh string, at model.Origin, name string, r *api.GRPCRoute) (model.Route, bool) {
	match, port, ok := t.grpcMatch(at.At(at.Path+".match"), r.Match)
	action := t.action(mesh, at.At(at.Path+".action.weightedTargets"), r.Action)
	action.Retry, action.Timeouts = t.settings.grpcRetry(r.RetryPolicy), requestTimeouts(r.Timeout)
	return model.Route{Name: name, Port: port, Protocol: model.GRPC, Match: match, Action: action, Origin: at}, ok
}

func (t *translator) tcpRoute(mesh string, at model.Origin, name string, r *api.TCPRoute) (model.Route, bool) {
	port, ok := uint16(0), true
	if r.Match != nil {
		port, ok = t.matchPort(at.At(at.Path+".match.port"), r.Match.Port)
	}
	action := t.action(mesh, at.At(at.Path+".action.weightedTargets"), r.Action)
	action.Timeouts = streamTimeouts(r.Timeout)
	return model.Route{Name: name, Port: port, Protocol: model.TCP, Action: action, Origin: at}, ok
}

// reachable reports a route that no listener can lead to.
func (t *translator) reachable(r model.Route, ports []model.RouterPort) bool {
	fits := func(p model.RouterPort) bool { return p.Protocol == r.Protocol && (r.Port == 0 || r.Port == p.Port) }
	switch {
	case len(ports) == 0 || slices.ContainsFunc(ports, fits):
		return true
	case r.Port != 0:
		t.report(r.Origin.At(r.Origin.Path+".match.port"), model.CodeInvalidField,
			"the VirtualRouter has no %s listener on port %d", r.Protocol, r.Port)
	default:
		t.report(r.Origin, model.CodeInvalidField, "no listener of the VirtualRouter speaks %s", r.Protocol)
	}
	return false
}

// portStated reports a route that leaves open which of several listeners it is for. App Mesh took no such route,
// whatever the other listeners speak. One that is there all the same is served on each listener of its protocol: that
// narrows nothing that works.
func (t *translator) portStated(r model.Route, ports []model.RouterPort) {
	if r.Port == 0 && len(ports) > 1 {
		t.report(r.Origin.At(r.Origin.Path+".match.port"), model.CodeInvalidField,
			"needed where the VirtualRouter has several listeners; a route that is there without it is for all that speak %s", r.Protocol)
	}
}

// action resolves the targets of a route. Those that cannot be found are left out, and the others share the traffic.
func (t *translator) action(mesh string, at model.Origin, a api.RouteAction) model.Action {
	var out model.Action
	var stated, left int64
	for i, w := range a.WeightedTargets {
		stated += max(w.Weight, 0)
		if d, ok := t.target(mesh, at.At(fmt.Sprintf("%s[%d]", at.Path, i)), w); ok {
			out.Destinations = append(out.Destinations, d)
			left += int64(d.Weight)
		}
	}
	if stated == 0 {
		t.report(at, model.CodeZeroWeight,
			"no target has a weight above 0; matching requests are answered as if the route led nowhere")
	}
	if left == 0 {
		out.Destinations = nil
	}
	return out
}

func (t *translator) target(mesh string, at model.Origin, w api.WeightedTarget) (model.WeightedDestination, bool) {
	node, found := resolve(t, t.nodes, mesh, nodeReference(at, w.VirtualNodeRef, w.VirtualNodeARN))
	if !found {
		return model.WeightedDestination{}, false
	}
	if w.Weight < 0 {
		t.report(at.At(at.Path+".weight"), model.CodeInvalidField, "%d is below 0", w.Weight)
		return model.WeightedDestination{}, false
	}
	ports := t.ports.Read(t.Evaluation, node.key)
	i := 0
	switch {
	case len(ports) == 0:
		t.report(at, model.CodeReferenceNotFound, "%s has no listener that can be reached", node.origin.Object)
		return model.WeightedDestination{}, false
	case deref(w.Port) != 0:
		i = slices.IndexFunc(ports, func(d nodePort) bool { return int64(d.Port) == *w.Port })
		if i < 0 {
			t.report(at.At(at.Path+".port"), model.CodeReferenceNotFound, "%s has no listener on port %d",
				node.origin.Object, *w.Port)
			return model.WeightedDestination{}, false
		}
	case len(ports) > 1:
		t.report(at.At(at.Path+".port"), model.CodeInvalidField, "%s has %d listeners; name the port of one",
			node.origin.Object, len(ports))
		return model.WeightedDestination{}, false
	}
	return model.WeightedDestination{
		Destination: ports[i].Name, Weight: uint32(min(w.Weight, math.MaxUint32)), Origin: at,
	}, true
}
