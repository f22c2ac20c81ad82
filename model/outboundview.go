package model

import (
	"slices"
	"strings"
)

// OutboundView is the part of a view that workloads with the same backends share.
type OutboundView struct {
	// Outbound are the ports of the workload's backends, with the services on each.
	Outbound []Outbound `json:"outbound,omitempty"`
	// Hosts are the reachable host names that the DNS server of the agent answers, in order.
	Hosts []Host `json:"hosts,omitempty"`
	// Destinations are the targets of the routes, also of the routes for inbound traffic, by name.
	Destinations []Destination `json:"destinations,omitempty"`
}

// Destination finds a destination of the outbound view.
func (v *OutboundView) Destination(name string) (Destination, bool) {
	i, ok := v.DestinationIndex(name)
	if !ok {
		return Destination{}, false
	}
	return v.Destinations[i], true
}

// DestinationIndex returns the position of a destination in Destinations.
func (v *OutboundView) DestinationIndex(name string) (int, bool) {
	return slices.BinarySearchFunc(v.Destinations, name, func(d Destination, n string) int {
		return strings.Compare(d.Name, n)
	})
}

// PortConflict is a service of an outbound view that is not served on a port.
type PortConflict struct {
	Service string
	// Origin is the origin of the service.
	Origin Origin
	Text   string
}

// OutboundCatalog finds the items that an outbound view consists of. It reports false for items that do not exist.
type OutboundCatalog interface {
	Mesh(name string) (Mesh, bool)
	ReachableService(Key) (*ReachableService, bool)
	// Services lists the services of a mesh by name.
	Services(mesh string) []Service
	Destination(Key) (Destination, bool)
}

// NewOutboundView creates the outbound view for a request, with the conflicts on its ports. The outbound view shares
// memory with the items of the catalog. It reports false if the mesh does not exist.
func NewOutboundView(c OutboundCatalog, request OutboundRequest) (OutboundView, []PortConflict, bool) {
	mesh, ok := c.Mesh(request.Mesh)
	if !ok {
		return OutboundView{}, nil, false
	}
	b := newOutboundBuilder(mesh, request.DNS, len(request.Services))
	for _, name := range request.Services {
		b.add(c, name)
	}
	if request.All {
		for _, s := range c.Services(request.Mesh) {
			if !slices.Contains(request.Services, s.Name) {
				b.add(c, s.Name)
			}
		}
	}
	for _, name := range request.Destinations {
		if d, known := c.Destination(Key{request.Mesh, name}); known {
			b.destinations = append(b.destinations, &d)
		}
	}
	return b.view(), b.conflicts, true
}
