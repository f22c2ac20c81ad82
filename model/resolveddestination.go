package model

import "slices"

// ResolvedDestination is what a destination leads to at one time. All workloads that have the destination share it.
type ResolvedDestination struct {
	Mesh        Mesh        `json:"mesh"`
	Destination Destination `json:"destination"`
	// Endpoints are the ready ones, in canonical order, of a destination that is found by instances.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

// ResolveDestination makes a reach of all endpoints of a destination. Those that are not ready are left out: they get no traffic, and nothing
// is to change when they come or go.
func ResolveDestination(mesh Mesh, d Destination, all []Endpoint) ResolvedDestination {
	r := ResolvedDestination{Mesh: mesh, Destination: d}
	if d.Discovery.Kind != DiscoverInstances {
		return r
	}
	for _, e := range all {
		if e.Ready {
			r.Endpoints = append(r.Endpoints, e)
		}
	}
	slices.SortFunc(r.Endpoints, Endpoint.Compare)
	return r
}
