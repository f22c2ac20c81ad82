package appmesh

import (
	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// virtualService adds the service that a VirtualService is. One without a provider, or with a provider that cannot be
// found, stays in the model without routes.
func (t *translator) virtualService(m *member[*api.VirtualService]) {
	t.out.Services = append(t.out.Services, model.Service{Key: m.key, Router: t.provider(m), Origin: m.origin})
}

// provider gives the name of the router that answers for a service, or "".
func (t *translator) provider(m *member[*api.VirtualService]) string {
	at := m.origin.At("spec.provider")
	p := m.object.Spec.Provider
	switch {
	case p == nil || p.VirtualNode == nil && p.VirtualRouter == nil:
		return ""
	case p.VirtualNode != nil && p.VirtualRouter != nil:
		t.report(at, model.CodeInvalidField, "names both a VirtualNode and a VirtualRouter; keep one of them")
		return ""
	case p.VirtualRouter != nil:
		r := p.VirtualRouter
		router := resolve(t, &t.routers, m.key.Mesh, routerReference(at.At(at.Path+".virtualRouter"), r.VirtualRouterRef, r.VirtualRouterARN))
		if router == nil {
			return ""
		}
		return router.key.Name
	}
	n := p.VirtualNode
	at = at.At(at.Path + ".virtualNode")
	node := resolve(t, &t.nodes, m.key.Mesh, nodeReference(at, n.VirtualNodeRef, n.VirtualNodeARN))
	if node == nil {
		return ""
	}
	if len(t.ports[node.key]) == 0 {
		t.report(at, model.CodeReferenceNotFound, "%s has no listener that can be reached", node.origin.Object)
		return ""
	}
	return t.nodeRouter(node)
}

// nodeRouter gives the router of a VirtualNode that provides services by itself: it has the VirtualNode's ports, and
// hands on all that comes. No VirtualRouter has a name with a slash, so the names cannot meet.
func (t *translator) nodeRouter(node *member[*api.VirtualNode]) string {
	if name, made := t.nodeRouters[node.key]; made {
		return name
	}
	name := "virtualNode/" + node.key.Name
	router := model.Router{Key: model.Key{Mesh: node.key.Mesh, Name: name}, Origin: node.origin}
	for _, d := range t.ports[node.key] {
		router.Ports = append(router.Ports, model.RouterPort{Port: d.Port, Protocol: d.Protocol, Origin: d.Origin})
		router.Routes = append(router.Routes, model.Route{
			Name: d.Name, Port: d.Port, Protocol: d.Protocol, Origin: d.Origin,
			Action: model.Action{
				Destinations: []model.WeightedDestination{{Destination: d.Name, Weight: 1, Origin: d.Origin}},
				Retry:        t.nodeRetry(d.Protocol),
				Timeouts:     d.timeouts, // the listener's hold on the client's side too where no route states others
			},
		})
	}
	t.nodeRouters[node.key] = name
	t.out.Routers = append(t.out.Routers, router)
	return name
}

func (t *translator) nodeRetry(p model.Protocol) model.Retry {
	if !p.Requests() {
		return model.Retry{}
	}
	return t.settings.defaultRetry()
}
