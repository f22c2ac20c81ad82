package appmesh

import (
	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/model"
)

// addServices adds the rules for VirtualServices, and for VirtualNodes as providers.
func (r *rules) addServices(g *incremental.Graph) {
	r.providers = incremental.NewRelation[model.Key](g, "providers", func(a, b model.Origin) int {
		return a.Object.Compare(b.Object)
	},
		func(a, b model.Origin) bool { return a == b })
	r.services.each(r, g, (*translator).virtualService)
	incremental.AddRule(g, "router of VirtualNode", r.providers,
		func(task *incremental.Evaluation, key model.Key, all []model.Origin) {
			t := &translator{task, r}
			t.nodeRouter(key, all[0])
		})
}

// virtualService adds the service of a VirtualService. A service without a provider, or with one that does not exist,
// has no routes.
func (t *translator) virtualService(m *meshMember[*api.VirtualService]) {
	t.out.AddService(t.Evaluation, model.Service{Key: m.key, Router: t.provider(m), Origin: m.origin})
}

// provider returns the name of the router of a service, or "".
func (t *translator) provider(m *meshMember[*api.VirtualService]) string {
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
		router, found := resolve(t, t.routers, m.key.Mesh,
			routerReference(at.At(at.Path+".virtualRouter"), r.VirtualRouterRef, r.VirtualRouterARN))
		if !found {
			return ""
		}
		return router.key.Name
	}
	n := p.VirtualNode
	at = at.At(at.Path + ".virtualNode")
	node, found := resolve(t, t.nodes, m.key.Mesh, nodeReference(at, n.VirtualNodeRef, n.VirtualNodeARN))
	if !found {
		return ""
	}
	if len(t.ports.Read(t.Evaluation, node.key)) == 0 {
		t.report(at, model.CodeReferenceNotFound, "%s has no listener that clients can reach", node.origin.Object)
		return ""
	}
	t.providers.Emit(t.Evaluation, node.key, node.origin)
	return nodeRouterName(node.key)
}

// nodeRouterName returns the name of the router of a VirtualNode. The names of VirtualRouters have no slash, so that
// there is no conflict.
func nodeRouterName(node model.Key) string { return "virtualNode/" + node.Name }

// nodeRouter adds the router of a VirtualNode that is a provider: it has the ports of the VirtualNode and forwards
// all requests.
func (t *translator) nodeRouter(node model.Key, origin model.Origin) {
	router := model.Router{Key: model.Key{Mesh: node.Mesh, Name: nodeRouterName(node)}, Origin: origin}
	for _, d := range t.ports.Read(t.Evaluation, node) {
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
	t.out.AddRouter(t.Evaluation, router)
}

func (t *translator) nodeRetry(p model.Protocol) model.Retry {
	if !p.Requests() {
		return model.Retry{}
	}
	return t.settings.defaultRetry()
}
