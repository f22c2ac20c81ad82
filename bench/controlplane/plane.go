package main

import (
	"context"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"anymesh.dev/anymesh/internal/identity"
)

// plane is a control plane that can be measured, and how the same mesh is told to it: services with two endpoints each,
// and sidecars that reach all of them.
type plane interface {
	// fill makes the objects by which it knows the mesh.
	fill(ctx context.Context, c *cluster, s size) error
	// start runs it. It serves discovery with a certificate of the authority, and takes that authority's clients.
	start(ctx context.Context, c *cluster, ca *identity.CA) (*server, error)
	// setReady says whether one of a service's two endpoints is ready.
	setReady(ctx context.Context, c *cluster, service, j int, ready bool) error
	// clusterName is the name of the Envoy cluster, and of its endpoints, that leads to a service.
	clusterName(service int) string
	// asks is what a client asks for.
	asks(client int, s size, clusters []string) []*discoveryv3.DeltaDiscoveryRequest
}

// clusters are the names of the clusters of all services.
func (s size) clusters(p plane) []string {
	names := make([]string, s.services)
	for i := range names {
		names[i] = p.clusterName(i)
	}
	return names
}
