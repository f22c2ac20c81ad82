package controlplane

import (
	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// catalog implements sidecar.Catalog for a driver with some features.
type catalog struct {
	engine   *engine.Engine
	class    delivery.Class
	supports map[model.Feature]bool
}

// View implements sidecar.Catalog.
func (c catalog) View(workload model.Key) (*model.View, bool) {
	view, ok := c.engine.View(workload)
	if !ok {
		return nil, false
	}
	protected, _ := view.Protect(c.class.Name, c.supports)
	return protected.InAllTrustDomains(), true
}

// ResolvedDestination implements sidecar.Catalog. The client policy for a destination is a part of the workload's view.
func (c catalog) ResolvedDestination(workload, destination model.Key) (none model.ResolvedDestination, ok bool) {
	key, ok := c.engine.OutboundKeyOf(workload)
	if !ok {
		return none, false
	}
	_, outbound, ok := c.engine.OutboundView(key)
	if !ok {
		return none, false
	}
	reached, ok := outbound.Destination(destination.Name)
	if !ok || reached.Key != destination {
		return none, false
	}
	resolved, ok := c.engine.ResolvedDestination(destination)
	if !ok {
		return none, false
	}
	resolved.Destination.TLS = reached.TLS
	return resolved.Protect(c.supports).InAllTrustDomains(), true
}

// WithoutAgent implements sidecar.Catalog.
func (c catalog) WithoutAgent(workload model.Key) []model.Endpoint {
	var out []model.Endpoint
	for _, e := range c.engine.WithoutAgent(workload) {
		if c.class.Has(e.SidecarClass) {
			out = append(out, e)
		}
	}
	return out
}

// Workloads implements sidecar.Catalog.
func (c catalog) Workloads() []model.Key {
	var out []model.Key
	for _, key := range c.engine.Workloads() {
		if c.class.Serves(c.engine.Classes(key)) {
			out = append(out, key)
		}
	}
	return out
}
