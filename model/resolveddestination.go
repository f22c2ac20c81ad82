package model

import (
	"iter"
	"slices"
)

// ResolvedDestination is a destination with its current endpoints. All workloads that have the destination share it.
type ResolvedDestination struct {
	Mesh        Mesh        `json:"mesh"`
	Destination Destination `json:"destination"`
	// Endpoints are the ready endpoints in canonical order. The list is empty unless Discovery.Kind is
	// DiscoverInstances.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

// PortAt returns the port of the destination at one of its endpoints.
func (d *Destination) PortAt(e Endpoint) uint16 {
	if e.Port != 0 {
		return e.Port
	}
	return d.Port
}

// WeightAt returns the weight of one of the endpoints of the destination, from 1.
func (d *Destination) WeightAt(e Endpoint) uint32 {
	for _, w := range d.Discovery.Weights {
		if slices.Contains(e.Groups, w.Group) {
			return w.Weight
		}
	}
	return max(e.Weight, 1)
}

// ResolveDestination creates a ResolvedDestination from all endpoints of a destination. It drops endpoints that are not
// ready: they get no traffic, and their changes must not change the result.
func ResolveDestination(mesh Mesh, d Destination, all iter.Seq[Endpoint]) ResolvedDestination {
	r := ResolvedDestination{Mesh: mesh, Destination: d}
	if d.Discovery.Kind != DiscoverInstances {
		return r
	}
	for e := range all {
		if d.Takes(&e) {
			r.Endpoints = append(r.Endpoints, e)
		}
	}
	slices.SortFunc(r.Endpoints, Endpoint.Compare)
	return r
}
