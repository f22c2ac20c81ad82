package v1beta2

// Route is a route of a VirtualRouter. Exactly one of grpcRoute, httpRoute, http2Route and tcpRoute is required.
type Route struct {
	// Name of the route, unique in the VirtualRouter.
	Name string `json:"name"`
	// Priority is 0 (highest) to 1000. Routes without a priority have the lowest.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Priority *int64 `json:"priority,omitempty"`
	// GRPCRoute routes gRPC requests.
	// +optional
	GRPCRoute *GRPCRoute `json:"grpcRoute,omitempty"`
	// HTTPRoute routes HTTP/1 requests.
	// +optional
	HTTPRoute *HTTPRoute `json:"httpRoute,omitempty"`
	// HTTP2Route routes HTTP/2 requests.
	// +optional
	HTTP2Route *HTTPRoute `json:"http2Route,omitempty"`
	// TCPRoute routes TCP connections.
	// +optional
	TCPRoute *TCPRoute `json:"tcpRoute,omitempty"`
}

// HTTPRoute is a route for HTTP/1 or HTTP/2 requests.
type HTTPRoute struct {
	// Match selects the requests.
	Match HTTPRouteMatch `json:"match"`
	// Action is the target of the route.
	Action RouteAction `json:"action"`
	// RetryPolicy is the retry policy. The default is the default policy of the mesh.
	// +optional
	RetryPolicy *HTTPRetryPolicy `json:"retryPolicy,omitempty"`
	// Timeout has the timeouts of requests. The default is 15 s per request.
	// +optional
	Timeout *HTTPTimeout `json:"timeout,omitempty"`
}

// HTTPRouteMatch matches requests that fulfill all of its conditions. Exactly one of prefix and path is required.
type HTTPRouteMatch struct {
	// Prefix is a prefix of the path, compared as a plain string.
	// +optional
	Prefix *string `json:"prefix,omitempty"`
	// Path matches the whole path.
	// +optional
	Path *PathMatch `json:"path,omitempty"`
	// Headers are conditions on headers. All of them must match.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +optional
	Headers []HeaderMatch `json:"headers,omitempty"`
	// QueryParameters are conditions on query parameters. All of them must match.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +optional
	QueryParameters []QueryParameterMatch `json:"queryParameters,omitempty"`
	// Method is the HTTP method of the request.
	// +optional
	Method *HTTPMethod `json:"method,omitempty"`
	// Scheme is the scheme of the request.
	// +optional
	Scheme *HTTPScheme `json:"scheme,omitempty"`
	// Port is the port of the VirtualRouter's listener that received the request.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Port *int64 `json:"port,omitempty"`
}

// GRPCRoute is a route for gRPC requests.
type GRPCRoute struct {
	// Match selects the requests.
	Match GRPCRouteMatch `json:"match"`
	// Action is the target of the route.
	Action RouteAction `json:"action"`
	// RetryPolicy is the retry policy. The default is the default policy of the mesh.
	// +optional
	RetryPolicy *GRPCRetryPolicy `json:"retryPolicy,omitempty"`
	// Timeout has the timeouts of requests. The default is 15 s per request.
	// +optional
	Timeout *HTTPTimeout `json:"timeout,omitempty"`
}

// GRPCRouteMatch matches requests that fulfill all of its conditions. Without conditions it matches all gRPC
// requests.
type GRPCRouteMatch struct {
	// MethodName is the name of the gRPC method, 1 to 50 characters. It requires serviceName.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +optional
	MethodName *string `json:"methodName,omitempty"`
	// ServiceName is the full name of the gRPC service.
	// +optional
	ServiceName *string `json:"serviceName,omitempty"`
	// Metadata are conditions on metadata entries. All of them must match.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +optional
	Metadata []HeaderMatch `json:"metadata,omitempty"`
	// Port is the port of the VirtualRouter's listener that received the request.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Port *int64 `json:"port,omitempty"`
}

// TCPRoute is a route for TCP connections.
type TCPRoute struct {
	// Match selects the connections. The default is all.
	// +optional
	Match *TCPRouteMatch `json:"match,omitempty"`
	// Action is the target of the route.
	Action RouteAction `json:"action"`
	// Timeout has the timeouts of connections.
	// +optional
	Timeout *TCPTimeout `json:"timeout,omitempty"`
}

// TCPRouteMatch matches connections by port.
type TCPRouteMatch struct {
	// Port is the port of the VirtualRouter's listener that accepted the connection.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Port *int64 `json:"port,omitempty"`
}

// RouteAction splits traffic between VirtualNodes.
type RouteAction struct {
	// WeightedTargets are 1 to 10 targets. Weights are relative to their sum.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	WeightedTargets []WeightedTarget `json:"weightedTargets"`
}

// WeightedTarget is a VirtualNode with a weight.
type WeightedTarget struct {
	// VirtualNodeRef names the VirtualNode. One of virtualNodeRef and virtualNodeARN is required; the ARN takes
	// precedence.
	// +optional
	VirtualNodeRef *VirtualNodeReference `json:"virtualNodeRef,omitempty"`
	// VirtualNodeARN is the resource name of the VirtualNode.
	// +optional
	VirtualNodeARN *string `json:"virtualNodeARN,omitempty"`
	// Weight of the target, 0 to 100.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Weight int64 `json:"weight"`
	// Port of the VirtualNode's listener. Required if the VirtualNode has several listeners.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Port *int64 `json:"port,omitempty"`
}
