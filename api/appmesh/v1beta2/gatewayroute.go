package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// VirtualGatewayReference names the VirtualGateway of a GatewayRoute. Set at admission, never by users.
type VirtualGatewayReference struct {
	// Namespace of the VirtualGateway; absent or empty means that of the GatewayRoute.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// Name of the VirtualGateway.
	Name string `json:"name"`
	// UID of the VirtualGateway.
	UID types.UID `json:"uid"`
}

// GatewayRouteSpec is what is wanted of a GatewayRoute: exactly one of the three kinds of route.
type GatewayRouteSpec struct {
	// AWSName; absent or empty it becomes name_namespace. Immutable.
	// +optional
	AWSName *string `json:"awsName,omitempty"`
	// Priority, 0 (first) to 1000; absent sorts last.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Priority *int64 `json:"priority,omitempty"`
	// GRPCRoute for gRPC requests.
	// +optional
	GRPCRoute *GRPCGatewayRoute `json:"grpcRoute,omitempty"`
	// HTTPRoute for HTTP/1 requests.
	// +optional
	HTTPRoute *HTTPGatewayRoute `json:"httpRoute,omitempty"`
	// HTTP2Route for HTTP/2 requests.
	// +optional
	HTTP2Route *HTTPGatewayRoute `json:"http2Route,omitempty"`
	// VirtualGatewayRef is the VirtualGateway. Read-only, set at admission.
	// +optional
	VirtualGatewayRef *VirtualGatewayReference `json:"virtualGatewayRef,omitempty"`
	// MeshRef is the Mesh. Read-only, set at admission.
	// +optional
	MeshRef *MeshReference `json:"meshRef,omitempty"`
}

// GatewayRouteVirtualService names the VirtualService that a route leads to.
type GatewayRouteVirtualService struct {
	// VirtualServiceRef names the VirtualService. One of virtualServiceRef and virtualServiceARN is needed; the ARN
	// wins.
	// +optional
	VirtualServiceRef *VirtualServiceReference `json:"virtualServiceRef,omitempty"`
	// VirtualServiceARN names it by its resource name.
	// +optional
	VirtualServiceARN *string `json:"virtualServiceARN,omitempty"`
}

// GatewayRouteTarget is where a route leads.
type GatewayRouteTarget struct {
	// VirtualService that answers.
	VirtualService GatewayRouteVirtualService `json:"virtualService"`
	// Port of the VirtualService; needed when it has several.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Port *int64 `json:"port,omitempty"`
}

// GatewayRouteHostnameMatch compares the host of a request: exactly one of the members.
type GatewayRouteHostnameMatch struct {
	// Exact host, 1 to 253 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Exact *string `json:"exact,omitempty"`
	// Suffix of the host, 1 to 253 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Suffix *string `json:"suffix,omitempty"`
}

// RewriteDefault turns a default rewrite on or off.
// +kubebuilder:validation:Enum=ENABLED;DISABLED
type RewriteDefault string

// The two settings; absent means ENABLED.
const (
	RewriteEnabled  RewriteDefault = "ENABLED"
	RewriteDisabled RewriteDefault = "DISABLED"
)

// GatewayRouteHostnameRewrite of the Host header.
type GatewayRouteHostnameRewrite struct {
	// DefaultTargetHostname puts the VirtualService's name in its place unless DISABLED.
	// +optional
	DefaultTargetHostname *RewriteDefault `json:"defaultTargetHostname,omitempty"`
}

// GatewayRoutePrefixRewrite of the matched prefix.
type GatewayRoutePrefixRewrite struct {
	// DefaultPrefix puts "/" in its place unless DISABLED; not beside value.
	// +optional
	DefaultPrefix *RewriteDefault `json:"defaultPrefix,omitempty"`
	// Value put in its place, 1 to 255 characters, beginning and ending with "/".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Value *string `json:"value,omitempty"`
}

// GatewayRoutePathRewrite of the whole path.
type GatewayRoutePathRewrite struct {
	// Exact path put in its place, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Exact *string `json:"exact,omitempty"`
}

// HTTPGatewayRouteRewrite of a request before it enters the mesh; not prefix and path at once.
type HTTPGatewayRouteRewrite struct {
	// Prefix rewrite.
	// +optional
	Prefix *GatewayRoutePrefixRewrite `json:"prefix,omitempty"`
	// Path rewrite.
	// +optional
	Path *GatewayRoutePathRewrite `json:"path,omitempty"`
	// Hostname rewrite.
	// +optional
	Hostname *GatewayRouteHostnameRewrite `json:"hostname,omitempty"`
}

// HTTPGatewayRouteAction is where a request goes, and as what.
type HTTPGatewayRouteAction struct {
	// Target that answers.
	Target GatewayRouteTarget `json:"target"`
	// Rewrite; absent means the defaults.
	// +optional
	Rewrite *HTTPGatewayRouteRewrite `json:"rewrite,omitempty"`
}

// HTTPGatewayRouteMatch is a conjunction of conditions; one of prefix, path and hostname is needed.
type HTTPGatewayRouteMatch struct {
	// Prefix of the path, compared as a plain string.
	// +optional
	Prefix *string `json:"prefix,omitempty"`
	// Path as a whole.
	// +optional
	Path *PathMatch `json:"path,omitempty"`
	// Hostname of the request.
	// +optional
	Hostname *GatewayRouteHostnameMatch `json:"hostname,omitempty"`
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
	// Port of the VirtualGateway's listener that the request came to.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Port *int64 `json:"port,omitempty"`
}

// HTTPGatewayRoute lets HTTP/1 or HTTP/2 requests in.
type HTTPGatewayRoute struct {
	// Match says which requests.
	Match HTTPGatewayRouteMatch `json:"match"`
	// Action says where to.
	Action HTTPGatewayRouteAction `json:"action"`
}

// GRPCGatewayRouteRewrite of a gRPC request before it enters the mesh.
type GRPCGatewayRouteRewrite struct {
	// Hostname rewrite.
	// +optional
	Hostname *GatewayRouteHostnameRewrite `json:"hostname,omitempty"`
}

// GRPCGatewayRouteAction is where a gRPC request goes, and as what.
type GRPCGatewayRouteAction struct {
	// Target that answers.
	Target GatewayRouteTarget `json:"target"`
	// Rewrite; absent means the defaults.
	// +optional
	Rewrite *GRPCGatewayRouteRewrite `json:"rewrite,omitempty"`
}

// GRPCGatewayRouteMatch is a conjunction of conditions; one of serviceName and hostname is needed.
type GRPCGatewayRouteMatch struct {
	// ServiceName is the full name of the gRPC service.
	// +optional
	ServiceName *string `json:"serviceName,omitempty"`
	// Hostname of the request.
	// +optional
	Hostname *GatewayRouteHostnameMatch `json:"hostname,omitempty"`
	// Metadata entries, all of them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +optional
	Metadata []HeaderMatch `json:"metadata,omitempty"`
	// Port of the VirtualGateway's listener that the request came to.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Port *int64 `json:"port,omitempty"`
}

// GRPCGatewayRoute lets gRPC requests in.
type GRPCGatewayRoute struct {
	// Match says which requests.
	Match GRPCGatewayRouteMatch `json:"match"`
	// Action says where to.
	Action GRPCGatewayRouteAction `json:"action"`
}

// GatewayRouteStatus is what was seen of a GatewayRoute.
type GatewayRouteStatus struct {
	// GatewayRouteARN is the resource name.
	// +optional
	GatewayRouteARN *string `json:"gatewayRouteARN,omitempty"`
	// Conditions; one of type GatewayRouteActive.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// GatewayRoute leads traffic from a VirtualGateway to a VirtualService.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=all
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".status.gatewayRouteARN",description="Resource name of the GatewayRoute"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
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
