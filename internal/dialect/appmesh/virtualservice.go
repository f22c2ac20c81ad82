package appmesh

import (
	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// serviceRule translates VirtualServices.
type serviceRule struct {
	translator
	nodes, routers resolver
	ports          *incremental.Reader[model.Key, nodePort]
	services       store.Output[model.Key, model.Service]
	providers      *incremental.Emitter[model.Key, model.Origin]
	inNamespace    *incremental.Emitter[meshNamespace, *nameClaim]
}

// nodeRouterRule adds the routers of VirtualNodes that are providers.
type nodeRouterRule struct {
	settings Settings
	ports    *incremental.Reader[model.Key, nodePort]
	routers  store.Output[model.Key, model.Router]
}

// addServices adds the rules for VirtualServices, and for VirtualNodes as providers.
func (r *rules) addServices(g *incremental.Graph) {
	rule := incremental.NewRule(g, api.KindVirtualService)
	eachServed(r, rule, r.services, &serviceRule{
		translator: r.translator(rule), nodes: r.nodes.resolver(rule), routers: r.routers.resolver(rule),
		ports: incremental.Reads(rule, r.ports), services: r.out.EmitsServices(rule),
		providers: incremental.Emits(rule, r.providers), inNamespace: incremental.Emits(rule, r.servicesIn),
	}, (*serviceRule).virtualService)
	rule = incremental.NewRule(g, "router of VirtualNode")
	incremental.Each(rule, r.providers, &nodeRouterRule{
		r.settings, incremental.Reads(rule, r.ports), r.out.EmitsRouters(rule),
	}, (*nodeRouterRule).evaluate)
}

// virtualService adds the service of a VirtualService. A service without a provider, or with one that does not exist,
// has no routes.
func (t *serviceRule) virtualService(m *meshMember[*api.VirtualService]) {
	t.services.Emit(model.Service{Key: m.key, Router: t.provider(m), Origin: m.origin})
	t.inNamespace.Emit(meshNamespace{m.key.Mesh, m.origin.Object().Namespace}, m.nameClaim)
}

// provider returns the name of the router of a service, or "".
func (t *serviceRule) provider(m *meshMember[*api.VirtualService]) string {
	at := m.origin.At("spec.provider")
	p := m.object.Spec.Provider
	switch {
	case p == nil || p.VirtualNode == nil && p.VirtualRouter == nil:
		return ""
	case p.VirtualNode != nil && p.VirtualRouter != nil:
		t.report(at, model.CodeInvalidField, "virtualNode and virtualRouter are set; only one is allowed")
		return ""
	case p.VirtualRouter != nil:
		r := p.VirtualRouter
		router, found := t.resolve(&t.routers, m.key.Mesh,
			routerReference(at.At(at.Path+".virtualRouter"), r.VirtualRouterRef, r.VirtualRouterARN))
		if !found {
			return ""
		}
		return router.key.Name
	}
	n := p.VirtualNode
	at = at.At(at.Path + ".virtualNode")
	node, found := t.resolve(&t.nodes, m.key.Mesh, nodeReference(at, n.VirtualNodeRef, n.VirtualNodeARN))
	if !found {
		return ""
	}
	if len(t.ports.Read(node.key)) == 0 {
		t.report(at, model.CodeReferenceNotFound, "%s has no listener that clients can reach", node.origin.Object())
		return ""
	}
	t.providers.Emit(node.key, node.origin)
	return nodeRouterName(node.key)
}

// nodeRouterName returns the name of the router of a VirtualNode. The names of VirtualRouters have no slash, so that
// there is no conflict.
func nodeRouterName(node model.Key) string { return "virtualNode/" + node.Name }

// evaluate adds the router of a VirtualNode that is a provider: it has the ports of the VirtualNode and forwards all
// requests.
func (t *nodeRouterRule) evaluate(node model.Key, all []model.Origin) {
	router := model.Router{Key: model.Key{Mesh: node.Mesh, Name: nodeRouterName(node)}, Origin: all[0]}
	for _, d := range t.ports.Read(node) {
		router.Ports = append(router.Ports, model.RouterPort{Port: d.Port, Protocol: d.Protocol, Origin: d.Origin})
		router.Routes = append(router.Routes, model.Route{
			Name: d.Name, Port: d.Port, Protocol: d.Protocol, Origin: d.Origin,
			Action: model.Action{
				Destinations: []model.WeightedDestination{{Destination: d.Name, Weight: 1, Origin: d.Origin}},
				Retry:        t.nodeRetry(d.Protocol),
				Timeouts:     d.timeouts, // the timeouts of the listener also apply on the client side if no route sets others
			},
		})
	}
	t.routers.Emit(router)
}

func (t *nodeRouterRule) nodeRetry(p model.Protocol) model.Retry {
	if !p.Requests() {
		return model.Retry{}
	}
	return t.settings.defaultRetry()
}
