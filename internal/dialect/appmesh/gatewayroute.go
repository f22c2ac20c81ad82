package appmesh

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// gatewayRouteRule translates GatewayRoutes.
type gatewayRouteRule struct {
	translator
	services   resolver
	namespaces *incremental.Reader[types.NamespacedName, *corev1.Namespace]
	gateways   *incremental.Reader[allKey, servedGateway]
	owners     *incremental.Reader[string, meshOwner]
	states     *incremental.Emitter[model.ObjectRef, namedBy]
	attached   *incremental.Emitter[model.Key, attachedRoute]
}

// attachedRoute is the route of a GatewayRoute, for the router of its VirtualGateway.
type attachedRoute struct {
	prioritizedRoute
	// gateway is the origin of the VirtualGateway.
	gateway model.Origin
}

// gatewayRoute adds a route to the router of the VirtualGateway. A route with an invalid condition is omitted
// completely: without the condition it would match other requests.
func (t *gatewayRouteRule) gatewayRoute(m *meshMember[*api.GatewayRoute]) {
	gateway, ok := t.gatewayOf(m)
	if !ok {
		return
	}
	owner, _ := t.owners.ReadFirst(m.key.Mesh)
	t.states.Emit(m.origin.Object(), namedBy{owner, gateway.key.Name})
	spec := m.object.Spec
	count := 0
	for _, set := range []bool{spec.HTTPRoute != nil, spec.HTTP2Route != nil, spec.GRPCRoute != nil} {
		if set {
			count++
		}
	}
	if count != 1 {
		t.report(m.origin.At("spec"), model.CodeInvalidField,
			"%d of httpRoute, http2Route and grpcRoute are set; exactly one is required", count)
		return
	}
	var route model.Route
	switch {
	case spec.HTTPRoute != nil:
		route, ok = t.httpRoute(m.key, m.origin.At("spec.httpRoute"), model.HTTP, spec.HTTPRoute)
	case spec.HTTP2Route != nil:
		route, ok = t.httpRoute(m.key, m.origin.At("spec.http2Route"), model.HTTP2, spec.HTTP2Route)
	default:
		route, ok = t.grpcRoute(m.key, m.origin.At("spec.grpcRoute"), spec.GRPCRoute)
	}
	if !ok || !t.gatewayListens(route, gateway) {
		return
	}
	t.attached.Emit(gatewayKey(gateway.key), attachedRoute{prioritizedRoute{route, spec.Priority}, gateway.origin})
}

// gatewayOf returns the VirtualGateway of a GatewayRoute: the one that admission recorded. Without a record, or if that
// VirtualGateway was created again, it is the only one that selects the GatewayRoute.
func (t *gatewayRouteRule) gatewayOf(m *meshMember[*api.GatewayRoute]) (servedGateway, bool) {
	all := t.gateways.Read(allKey{})
	at := m.origin
	var found []servedGateway
	if ref := m.object.Spec.VirtualGatewayRef; ref != nil {
		at = at.At("spec.virtualGatewayRef")
		id := types.NamespacedName{Namespace: m.object.Namespace, Name: ref.Name}
		if ref.Namespace != nil {
			id.Namespace = *ref.Namespace
		}
		i := slices.IndexFunc(all, func(g servedGateway) bool { return g.object() == id })
		switch {
		case i < 0:
			t.report(at, model.CodeReferenceNotFound, "VirtualGateway %s does not exist or is not served", id)
			return servedGateway{}, false
		case all[i].uid == ref.UID:
			return t.inMesh(m, at, all[i])
		}
		found = t.selecting(m, all)
		if len(found) != 1 || found[0].object() != id {
			t.report(at.At(at.Path+".uid"), model.CodeNoGateway,
				"the GatewayRoute belongs to a VirtualGateway %s with uid %q, which was deleted; the existing one has uid %q and is not the only "+
					"one that selects the GatewayRoute; change the selectors so that it is, or create the GatewayRoute again", id, ref.UID, all[i].uid)
			return servedGateway{}, false
		}
		return t.inMesh(m, at, found[0])
	}
	switch found = t.selecting(m, all); len(found) {
	case 0:
		t.report(at, model.CodeNoGateway, "no VirtualGateway selects the GatewayRoute and its namespace %s", m.object.Namespace)
		return servedGateway{}, false
	case 1:
		return t.inMesh(m, at, found[0])
	}
	var names []string
	for _, g := range found {
		names = append(names, g.object().String())
	}
	slices.Sort(names)
	t.report(at, model.CodeMultipleGateways, "%d VirtualGateways select the GatewayRoute: %s", len(found),
		strings.Join(names, ", "))
	return servedGateway{}, false
}

// selecting lists the VirtualGateways that select a GatewayRoute and its namespace.
func (t *gatewayRouteRule) selecting(m *meshMember[*api.GatewayRoute], all []servedGateway) []servedGateway {
	set := labels.Set{corev1.LabelMetadataName: m.object.Namespace}
	if ns, known := t.namespaces.ReadFirst(types.NamespacedName{Name: m.object.Namespace}); known {
		set = ns.Labels
	}
	var out []servedGateway
	for _, g := range all {
		if g.namespaces.Matches(set) && g.routes.Matches(labels.Set(m.object.Labels)) {
			out = append(out, g)
		}
	}
	return out
}

// inMesh reports a VirtualGateway of another mesh.
func (t *gatewayRouteRule) inMesh(m *meshMember[*api.GatewayRoute], at model.Origin,
	g servedGateway) (servedGateway, bool) {
	if g.key.Mesh == m.key.Mesh {
		return g, true
	}
	t.report(at, model.CodeOtherMesh, "%s belongs to mesh %s, not to mesh %s", g.origin.Object(), g.key.Mesh, m.key.Mesh)
	return servedGateway{}, false
}

// gatewayListens reports whether a listener of the gateway matches a route, and adds a finding if none does.
func (t *gatewayRouteRule) gatewayListens(r model.Route, g servedGateway) bool {
	matches := func(p model.RouterPort) bool { return p.Protocol == r.Protocol && (r.Port == 0 || r.Port == p.Port) }
	switch {
	case slices.ContainsFunc(g.ports, matches):
		return true
	case r.Port != 0:
		t.report(r.Origin.At(r.Origin.Path+".match.port"), model.CodeInvalidField, "%s has no %s listener on port %d",
			g.origin.Object(), r.Protocol, r.Port)
	default:
		t.report(r.Origin, model.CodeInvalidField, "%s has no %s listener", g.origin.Object(), r.Protocol)
	}
	return false
}

func (t *gatewayRouteRule) httpRoute(key model.Key, at model.Origin, p model.Protocol,
	r *api.HTTPGatewayRoute) (model.Route, bool) {
	match, port, ok := t.gatewayMatch(at.At(at.Path+".match"), r.Match)
	target, found := t.target(key.Mesh, at.At(at.Path+".action.target"), r.Action.Target)
	action := model.Action{Service: target}
	rewrite := deref(r.Action.Rewrite)
	action.Rewrite = t.pathRewrite(at.At(at.Path+".action.rewrite"), rewrite, match.Path)
	if found && rewritesHost(rewrite.Hostname) {
		action.Rewrite.Host = target.Service
	}
	return model.Route{
		Name: key.Name, Port: port, Protocol: p, Match: match, Action: withoutEmptyRewrite(action), Origin: at,
	}, ok
}

func (t *gatewayRouteRule) grpcRoute(key model.Key, at model.Origin, r *api.GRPCGatewayRoute) (model.Route, bool) {
	match, port, ok := t.grpcMatch(at.At(at.Path+".match"),
		api.GRPCRouteMatch{ServiceName: r.Match.ServiceName, Metadata: r.Match.Metadata, Port: r.Match.Port})
	hosts, hostOK := t.hostMatch(at.At(at.Path+".match.hostname"), r.Match.Hostname)
	match.Hosts = hosts
	target, found := t.target(key.Mesh, at.At(at.Path+".action.target"), r.Action.Target)
	action := model.Action{Service: target, Rewrite: &model.Rewrite{}}
	if found && rewritesHost(deref(r.Action.Rewrite).Hostname) {
		action.Rewrite.Host = target.Service
	}
	return model.Route{
		Name: key.Name, Port: port, Protocol: model.GRPC, Match: match, Action: withoutEmptyRewrite(action), Origin: at,
	}, ok && hostOK
}

// target returns the target of a route. Without one, the route answers 404, so that its requests do not match others.
// The view of the gateway reports a port that the VirtualService does not have.
func (t *gatewayRouteRule) target(mesh string, at model.Origin, g api.GatewayRouteTarget) (*model.ServiceTarget, bool) {
	vs := g.VirtualService
	service, found := t.resolve(&t.services, mesh,
		serviceReference(at.At(at.Path+".virtualService"), vs.VirtualServiceRef, vs.VirtualServiceARN))
	port, ok := t.matchPort(at.At(at.Path+".port"), g.Port)
	if !found || !ok {
		return nil, false
	}
	return &model.ServiceTarget{Service: service.key.Name, Port: port, Origin: at.At(at.Path + ".port")}, true
}
