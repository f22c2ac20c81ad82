package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// VirtualGatewayReference names the VirtualGateway of a GatewayRoute. Admission sets it; users must not.
type VirtualGatewayReference struct {
	// Namespace of the VirtualGateway. The default is the namespace of the GatewayRoute.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// Name of the VirtualGateway.
	Name string `json:"name"`
	// UID of the VirtualGateway.
	UID types.UID `json:"uid"`
}

// GatewayRouteSpec is the desired state of a GatewayRoute. Exactly one of grpcRoute, httpRoute and http2Route is
// required.
type GatewayRouteSpec struct {
	// AWSName is the name of the object in the mesh. The default is name_namespace. Immutable.
	// +optional
	AWSName *string `json:"awsName,omitempty"`
	// Priority is 0 (highest) to 1000. Routes without a priority have the lowest.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Priority *int64 `json:"priority,omitempty"`
	// GRPCRoute routes gRPC requests.
	// +optional
	GRPCRoute *GRPCGatewayRoute `json:"grpcRoute,omitempty"`
	// HTTPRoute routes HTTP/1 requests.
	// +optional
	HTTPRoute *HTTPGatewayRoute `json:"httpRoute,omitempty"`
	// HTTP2Route routes HTTP/2 requests.
	// +optional
	HTTP2Route *HTTPGatewayRoute `json:"http2Route,omitempty"`
	// VirtualGatewayRef is the VirtualGateway of the GatewayRoute. Admission sets it; users must not.
	// +optional
	VirtualGatewayRef *VirtualGatewayReference `json:"virtualGatewayRef,omitempty"`
	// MeshRef is the Mesh of the object. Admission sets it; users must not.
	// +optional
	MeshRef *MeshReference `json:"meshRef,omitempty"`
}

// GatewayRouteVirtualService names the target VirtualService of a route.
type GatewayRouteVirtualService struct {
	// VirtualServiceRef names the VirtualService. One of virtualServiceRef and virtualServiceARN is required; the ARN
	// takes precedence.
	// +optional
	VirtualServiceRef *VirtualServiceReference `json:"virtualServiceRef,omitempty"`
	// VirtualServiceARN is the resource name of the VirtualService.
	// +optional
	VirtualServiceARN *string `json:"virtualServiceARN,omitempty"`
}

// GatewayRouteTarget is the target of a route.
type GatewayRouteTarget struct {
	// VirtualService is the VirtualService that receives the requests.
	VirtualService GatewayRouteVirtualService `json:"virtualService"`
	// Port of the VirtualService. Required if the VirtualService has several ports.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Port *int64 `json:"port,omitempty"`
}

// GatewayRouteHostnameMatch matches the host of a request. Exactly one field is required.
type GatewayRouteHostnameMatch struct {
	// Exact is the host, 1 to 253 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Exact *string `json:"exact,omitempty"`
	// Suffix is a suffix of the host, 1 to 253 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Suffix *string `json:"suffix,omitempty"`
}

// RewriteDefault enables or disables a default rewrite.
// +kubebuilder:validation:Enum=ENABLED;DISABLED
type RewriteDefault string

// Values of RewriteDefault. The default is ENABLED.
const (
	RewriteEnabled  RewriteDefault = "ENABLED"
	RewriteDisabled RewriteDefault = "DISABLED"
)

// GatewayRouteHostnameRewrite rewrites the Host header.
type GatewayRouteHostnameRewrite struct {
	// DefaultTargetHostname replaces the host with the name of the VirtualService, unless it is DISABLED.
	// +optional
	DefaultTargetHostname *RewriteDefault `json:"defaultTargetHostname,omitempty"`
}

// GatewayRoutePrefixRewrite rewrites the matched prefix.
type GatewayRoutePrefixRewrite struct {
	// DefaultPrefix replaces the prefix with "/", unless it is DISABLED. It excludes value.
	// +optional
	DefaultPrefix *RewriteDefault `json:"defaultPrefix,omitempty"`
	// Value replaces the prefix. It has 1 to 255 characters, and starts and ends with "/".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Value *string `json:"value,omitempty"`
}

// GatewayRoutePathRewrite replaces the path.
type GatewayRoutePathRewrite struct {
	// Exact is the new path, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Exact *string `json:"exact,omitempty"`
}

// HTTPGatewayRouteRewrite rewrites requests before they enter the mesh. Prefix and path exclude each other.
type HTTPGatewayRouteRewrite struct {
	// Prefix rewrites the matched prefix.
	// +optional
	Prefix *GatewayRoutePrefixRewrite `json:"prefix,omitempty"`
	// Path rewrites the path.
	// +optional
	Path *GatewayRoutePathRewrite `json:"path,omitempty"`
	// Hostname rewrites the host.
	// +optional
	Hostname *GatewayRouteHostnameRewrite `json:"hostname,omitempty"`
}

// HTTPGatewayRouteAction forwards a request to a target and rewrites it.
type HTTPGatewayRouteAction struct {
	// Target receives the requests.
	Target GatewayRouteTarget `json:"target"`
	// Rewrite rewrites the requests. If it is absent, the default rewrites apply.
	// +optional
	Rewrite *HTTPGatewayRouteRewrite `json:"rewrite,omitempty"`
}

// HTTPGatewayRouteMatch matches requests that fulfill all of its conditions. At least one of prefix, path and
// hostname is required.
type HTTPGatewayRouteMatch struct {
	// Prefix is a prefix of the path, compared as a plain string.
	// +optional
	Prefix *string `json:"prefix,omitempty"`
	// Path matches the whole path.
	// +optional
	Path *PathMatch `json:"path,omitempty"`
	// Hostname matches the host of the request.
	// +optional
	Hostname *GatewayRouteHostnameMatch `json:"hostname,omitempty"`
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
	// Port is the port of the VirtualGateway's listener that received the request.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Port *int64 `json:"port,omitempty"`
}

// HTTPGatewayRoute routes HTTP/1 or HTTP/2 requests into the mesh.
type HTTPGatewayRoute struct {
	// Match selects the requests.
	Match HTTPGatewayRouteMatch `json:"match"`
	// Action is the target of the route.
	Action HTTPGatewayRouteAction `json:"action"`
}

// GRPCGatewayRouteRewrite rewrites gRPC requests before they enter the mesh.
type GRPCGatewayRouteRewrite struct {
	// Hostname rewrites the host.
	// +optional
	Hostname *GatewayRouteHostnameRewrite `json:"hostname,omitempty"`
}

// GRPCGatewayRouteAction forwards a gRPC request to a target and rewrites it.
type GRPCGatewayRouteAction struct {
	// Target receives the requests.
	Target GatewayRouteTarget `json:"target"`
	// Rewrite rewrites the requests. If it is absent, the default rewrites apply.
	// +optional
	Rewrite *GRPCGatewayRouteRewrite `json:"rewrite,omitempty"`
}

// GRPCGatewayRouteMatch matches requests that fulfill all of its conditions. At least one of serviceName and hostname
// is required.
type GRPCGatewayRouteMatch struct {
	// ServiceName is the full name of the gRPC service.
	// +optional
	ServiceName *string `json:"serviceName,omitempty"`
	// Hostname matches the host of the request.
	// +optional
	Hostname *GatewayRouteHostnameMatch `json:"hostname,omitempty"`
	// Metadata are conditions on metadata entries. All of them must match.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +optional
	Metadata []HeaderMatch `json:"metadata,omitempty"`
	// Port is the port of the VirtualGateway's listener that received the request.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Port *int64 `json:"port,omitempty"`
}

// GRPCGatewayRoute routes gRPC requests into the mesh.
type GRPCGatewayRoute struct {
	// Match selects the requests.
	Match GRPCGatewayRouteMatch `json:"match"`
	// Action is the target of the route.
	Action GRPCGatewayRouteAction `json:"action"`
}

// GatewayRouteStatus is the observed state of a GatewayRoute.
type GatewayRouteStatus struct {
	// GatewayRouteARN is the resource name of the GatewayRoute.
	// +optional
	GatewayRouteARN *string `json:"gatewayRouteARN,omitempty"`
	// Conditions has one condition, of type GatewayRouteActive.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// GatewayRoute routes requests from a VirtualGateway to a VirtualService.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=all
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".status.gatewayRouteARN",description="Resource name of the GatewayRoute"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="SERVED",type="string",JSONPath=".status.conditions[?(@.type==\"GatewayRouteActive\")].status",description="Whether everything that the object asks for is served"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.type==\"GatewayRouteActive\")].reason",description="Code of the worst finding"
// +kubebuilder:pruning:PreserveUnknownFields
type GatewayRoute struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GatewayRouteSpec   `json:"spec,omitempty"`
	Status GatewayRouteStatus `json:"status,omitempty"`
}

// GatewayRouteList is a list of GatewayRoute.
// +kubebuilder:object:root=true
type GatewayRouteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GatewayRoute `json:"items"`
}
