package sidecar

import (
	"slices"

	"anymesh.dev/anymesh/model"
)

// Protected returns a renderer that serves nothing with less protection than asked for: the driver gets views without
// what it cannot protect, see model.View.Protect, and with the names of peers in all trust domains of the mesh, see
// model.View.InAllTrustDomains. The control plane uses it for every driver.
func Protected(name string, r Renderer) Renderer {
	p := protected{Renderer: r, name: name, supports: r.Supports()}
	p.clients = !slices.ContainsFunc(model.AllFeatures(), func(f model.Feature) bool {
		return f.ProtectsClients() && !p.supports[f]
	})
	if shared, shares := r.(OutboundRenderer); shares {
		return protectedOutbound{p, shared}
	}
	return p
}

// protected is a renderer of a driver with the given features. clients is true if it supports those of destinations.
type protected struct {
	Renderer
	name     string
	supports map[model.Feature]bool
	clients  bool
}

// Supports implements Renderer. It returns the same map for each call, which must not be modified.
func (p protected) Supports() map[model.Feature]bool { return p.supports }

// Render implements Renderer.
func (p protected) Render(v *model.View) ([]Resource, []model.Finding) {
	view, findings := v.Protect(p.name, p.supports)
	resources, more := p.Renderer.Render(view.InAllTrustDomains())
	return resources, model.SortFindings(append(findings, more...))
}

// RenderDestination implements Renderer.
func (p protected) RenderDestination(reach model.ResolvedDestination) []Resource {
	return p.Renderer.RenderDestination(reach.Protect(p.supports).InAllTrustDomains())
}

type protectedOutbound struct {
	protected
	outbound OutboundRenderer
}

// RenderOutbound implements OutboundRenderer.
func (p protectedOutbound) RenderOutbound(mesh model.Mesh, outbound *model.OutboundView) ([]Resource,
	[]model.Finding) {
	if p.clients {
		return p.outbound.RenderOutbound(mesh, outbound.InAllTrustDomains(mesh))
	}
	view, findings := outbound.Protect(p.name, p.supports)
	resources, more := p.outbound.RenderOutbound(mesh, view.InAllTrustDomains(mesh))
	return resources, model.SortFindings(append(findings, more...))
}

// RenderBinding implements OutboundRenderer.
func (p protectedOutbound) RenderBinding(mesh model.Mesh, port uint16, b model.Binding,
	find func(destination string) (model.Destination, bool)) ([]Resource, []model.Finding) {
	if p.clients {
		return p.outbound.RenderBinding(mesh, port, b, find)
	}
	return p.outbound.RenderBinding(mesh, port, b.ProtectRoutes(p.supports), func(name string) (model.Destination, bool) {
		d, ok := find(name)
		return model.ResolvedDestination{Destination: d}.Protect(p.supports).Destination, ok
	})
}
