package main

import (
	"context"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"anymesh.dev/anymesh/internal/identity"
)

// plane is a control plane under test with its representation of the mesh: services with two endpoints each, and
// sidecars with all services as backends.
type plane interface {
	// createObjects creates the objects of the mesh.
	createObjects(ctx context.Context, c *cluster, s size) error
	// start starts the control plane. It serves xDS with a certificate of the CA and accepts clients with
	// certificates of the CA.
	start(ctx context.Context, c *cluster, ca *identity.CA) (*server, error)
	// setReady sets the readiness of one endpoint of a service.
	setReady(ctx context.Context, c *cluster, service, j int, ready bool) error
	// clusterName returns the name of the Envoy cluster and endpoint resource of a service.
	clusterName(service int) string
	// subscriptions returns the subscription requests of a client, which is the sidecar of a workload's pod.
	subscriptions(client, workload int) []*discoveryv3.DeltaDiscoveryRequest
}

// partsPlane is a control plane whose sidecars have only the services that they need, with endpoints in the resource of
// the cluster.
type partsPlane interface {
	// reaches reports whether a client has a service.
	reaches(client, service int) bool
	// resourceType is the type of the resources.
	resourceType() string
}

// agentPlane is a control plane whose agents have a stream of their own. Istio's agents use the one of the sidecar.
type agentPlane interface {
	agentSubscriptions() []*discoveryv3.DeltaDiscoveryRequest
}

// first returns the numbers of the first services.
func (size) first(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}
