package v1beta2

// Route is one route of a VirtualRouter: exactly one of the four kinds of route.
type Route struct {
	// Name, unique in the VirtualRouter.
	Name string `json:"name"`
	// Priority, 0 (first) to 1000; absent sorts last.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Priority *int64 `json:"priority,omitempty"`
	// GRPCRoute for gRPC requests.
	// +optional
	GRPCRoute *GRPCRoute `json:"grpcRoute,omitempty"`
	// HTTPRoute for HTTP/1 requests.
	// +optional
	HTTPRoute *HTTPRoute `json:"httpRoute,omitempty"`
	// HTTP2Route for HTTP/2 requests.
	// +optional
	HTTP2Route *HTTPRoute `json:"http2Route,omitempty"`
	// TCPRoute for connections.
	// +optional
	TCPRoute *TCPRoute `json:"tcpRoute,omitempty"`
}

// HTTPRoute is a route of HTTP/1 or HTTP/2 requests.
type HTTPRoute struct {
	// Match says which requests.
	Match HTTPRouteMatch `json:"match"`
	// Action says where to.
	Action RouteAction `json:"action"`
	// RetryPolicy; absent means the mesh-wide default.
	// +optional
	RetryPolicy *HTTPRetryPolicy `json:"retryPolicy,omitempty"`
	// Timeout; absent means 15 s a request.
	// +optional
	Timeout *HTTPTimeout `json:"timeout,omitempty"`
}

// HTTPRouteMatch is a conjunction of conditions. Exactly one of prefix and path is needed.
type HTTPRouteMatch struct {
	// Prefix of the path, compared as a plain string.
	// +optional
	Prefix *string `json:"prefix,omitempty"`
	// Path as a whole.
	// +optional
	Path *PathMatch `json:"path,omitempty"`
	// Headers, all of them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +optional
	Headers []HeaderMatch `json:"headers,omitempty"`
	// QueryParameters, all of them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +optional
	QueryParameters []QueryParameterMatch `json:"queryParameters,omitempty"`
	// Method of the request.
	// +optional
	Method *HTTPMethod `json:"method,omitempty"`
	// Scheme of the request.
	// +optional
	Scheme *HTTPScheme `json:"scheme,omitempty"`
	// Port of the VirtualRouter's listener that the request came to.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Port *int64 `json:"port,omitempty"`
}

// GRPCRoute is a route of gRPC requests.
type GRPCRoute struct {
	// Match says which requests.
	Match GRPCRouteMatch `json:"match"`
	// Action says where to.
	Action RouteAction `json:"action"`
	// RetryPolicy; absent means the mesh-wide default.
	// +optional
	RetryPolicy *GRPCRetryPolicy `json:"retryPolicy,omitempty"`
	// Timeout; absent means 15 s a request.
	// +optional
	Timeout *HTTPTimeout `json:"timeout,omitempty"`
}

// GRPCRouteMatch is a conjunction of conditions; none matches every gRPC request.
type GRPCRouteMatch struct {
	// MethodName, 1 to 50 characters; has a meaning only beside serviceName.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +optional
	MethodName *string `json:"methodName,omitempty"`
	// ServiceName is the full name of the gRPC service.
	// +optional
	ServiceName *string `json:"serviceName,omitempty"`
	// Metadata entries, all of them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +optional
	Metadata []HeaderMatch `json:"metadata,omitempty"`
	// Port of the VirtualRouter's listener that the request came to.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Port *int64 `json:"port,omitempty"`
}

// TCPRoute is a route of connections.
type TCPRoute struct {
	// Match says which connections; absent means all.
	// +optional
	Match *TCPRouteMatch `json:"match,omitempty"`
	// Action says where to.
	Action RouteAction `json:"action"`
	// Timeout of connections.
	// +optional
	Timeout *TCPTimeout `json:"timeout,omitempty"`
}

// TCPRouteMatch tells connections apart by port only.
type TCPRouteMatch struct {
	// Port of the VirtualRouter's listener that the connection came to.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Port *int64 `json:"port,omitempty"`
}

// RouteAction shares traffic out over VirtualNodes.
type RouteAction struct {
	// WeightedTargets, 1 to 10. Weights are relative to their sum.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	WeightedTargets []WeightedTarget `json:"weightedTargets"`
}

// WeightedTarget is a VirtualNode and its share.
type WeightedTarget struct {
	// VirtualNodeRef names the VirtualNode. One of virtualNodeRef and virtualNodeARN is needed; the ARN wins.
	// +optional
	VirtualNodeRef *VirtualNodeReference `json:"virtualNodeRef,omitempty"`
	// VirtualNodeARN names it by its resource name.
	// +optional
	VirtualNodeARN *string `json:"virtualNodeARN,omitempty"`
	// Weight, 0 to 100.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Weight int64 `json:"weight"`
	// Port of the VirtualNode's listener; needed when it has several.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Port *int64 `json:"port,omitempty"`
}
