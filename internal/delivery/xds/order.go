package xds

// Type URLs with a position in the update order, or with an implicit wildcard.
const (
	ClusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	EndpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	ListenerType = "type.googleapis.com/envoy.config.listener.v3.Listener"
	RouteType    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	ScopeType    = "type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration"
	SecretType   = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
)

// wildcardByDefault reports whether a first request without names subscribes to all resources of the type.
func wildcardByDefault(typeURL string) bool {
	return typeURL == ClusterType || typeURL == ListenerType
}

// step is a stage of an update. Steps run in order. A step starts when the responses of all earlier steps are
// acknowledged (make before break).
//
// Secrets come first, because clusters and listeners wait for them; then clusters and endpoints, then listeners, scopes
// and routes that refer to them. Clusters and endpoints are removed last.
type step uint8

const (
	stepSecrets step = iota
	stepClusters
	stepEndpoints
	stepListeners
	stepScopes
	stepRoutes
	stepOthers
	stepRemoveClusters
	stepRemoveEndpoints
	stepCount
)

// stepOf returns the step of additions and changes of a type.
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
	case ScopeType:
		return stepScopes
	case RouteType:
		return stepRoutes
	}
	return stepOthers
}

// removalStepOf returns the step of removals of a type.
func removalStepOf(typeURL string) step {
	switch typeURL {
	case ClusterType:
		return stepRemoveClusters
	case EndpointType:
		return stepRemoveEndpoints
	}
	return stepOf(typeURL)
}

// typeLabels are the values of the label type: a fixed set, independent of requests.
var typeLabels = [...]string{
	stepSecrets: "secret", stepClusters: "cluster", stepEndpoints: "endpoint", stepListeners: "listener",
	stepScopes: "scope", stepRoutes: "route", stepOthers: "other",
}

func typeLabel(typeURL string) string { return typeLabels[stepOf(typeURL)] }
