package xds

// Type URLs that the protocol gives an order or a wildcard.
const (
	ClusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	EndpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	ListenerType = "type.googleapis.com/envoy.config.listener.v3.Listener"
	RouteType    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	SecretType   = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
)

// wildcardByDefault: a first request without names asks for everything.
func wildcardByDefault(typeURL string) bool {
	return typeURL == ClusterType || typeURL == ListenerType
}

// step is a stage of a push. Steps are taken in order, and a step starts when
// the responses of all earlier ones are acknowledged: make before break.
//
// Secrets come first because clusters and listeners wait for them, then what
// traffic is sent to, then what sends traffic there. What traffic was sent to is
// taken away last.
type step uint8

const (
	stepSecrets step = iota
	stepClusters
	stepEndpoints
	stepListeners
	stepRoutes
	stepOthers
	stepClustersGone
	stepEndpointsGone
	steps
)

// stepOf is where additions and changes of a type belong.
func stepOf(typeURL string) step {
	switch typeURL {
	case SecretType:
		return stepSecrets
	case ClusterType:
		return stepClusters
	case EndpointType:
		return stepEndpoints
	case ListenerType:
		return stepListeners
	case RouteType:
		return stepRoutes
	}
	return stepOthers
}

// removalStepOf is where removals of a type belong.
func removalStepOf(typeURL string) step {
	switch typeURL {
	case ClusterType:
		return stepClustersGone
	case EndpointType:
		return stepEndpointsGone
	}
	return stepOf(typeURL)
}

// labels are metric labels of types: a fixed set, whatever clients ask for.
var labels = [...]string{
	stepSecrets: "secret", stepClusters: "cluster", stepEndpoints: "endpoint", stepListeners: "listener", stepRoutes: "route", stepOthers: "other",
}

func label(typeURL string) string { return labels[stepOf(typeURL)] }
