package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TCPConnectionSettings limit connections.
type TCPConnectionSettings struct {
	// MaxConnections limits the connections of a client to the host.
	// +optional
	MaxConnections *uint32 `json:"maxConnections,omitempty"`
	// ConnectTimeout limits the time until a connection is established.
	// +optional
	ConnectTimeout *metav1.Duration `json:"connectTimeout,omitempty"`
}

// HTTPConnectionSettings limit requests.
type HTTPConnectionSettings struct {
	// MaxRequests limits the requests of a client without a complete response.
	// +optional
	MaxRequests *uint32 `json:"maxRequests,omitempty"`
	// MaxRequestsPerConnection limits the requests on a connection.
	// +optional
	MaxRequestsPerConnection *uint32 `json:"maxRequestsPerConnection,omitempty"`
	// MaxPendingRequests limits the requests that wait for a connection.
	// +optional
	MaxPendingRequests *uint32 `json:"maxPendingRequests,omitempty"`
	// MaxRetries limits the retries at the same time.
	// +optional
	MaxRetries *uint32 `json:"maxRetries,omitempty"`
	// CircuitBreaking is the circuit breaker of osm-edge.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	CircuitBreaking *apiextensionsv1.JSON `json:"circuitBreaking,omitempty"`
}

// ConnectionSettings limit what the sidecar of a client opens at the same time.
type ConnectionSettings struct {
	// TCP limits connections.
	// +optional
	TCP *TCPConnectionSettings `json:"tcp,omitempty"`
	// HTTP limits requests.
	// +optional
	HTTP *HTTPConnectionSettings `json:"http,omitempty"`
}

// HTTPHeaderValue is a header with its value.
type HTTPHeaderValue struct {
	// Name is the name of the header.
	Name string `json:"name"`
	// Value is the value of the header.
	Value string `json:"value"`
}

// TCPLocalRateLimit limits the connections to a pod.
type TCPLocalRateLimit struct {
	// Connections is the number of connections in a unit of time.
	Connections uint32 `json:"connections"`
	// Unit is second, minute or hour.
	Unit string `json:"unit"`
	// Burst is the number of further connections in a short time.
	// +optional
	Burst uint32 `json:"burst,omitempty"`
}

// HTTPLocalRateLimit limits the requests to a pod.
type HTTPLocalRateLimit struct {
	// Requests is the number of requests in a unit of time.
	Requests uint32 `json:"requests"`
	// Unit is second, minute or hour.
	Unit string `json:"unit"`
	// Burst is the number of further requests in a short time.
	// +optional
	Burst uint32 `json:"burst,omitempty"`
	// ResponseStatusCode is the status of the response to further requests. The default is 429.
	// +optional
	ResponseStatusCode uint32 `json:"responseStatusCode,omitempty"`
	// ResponseHeadersToAdd are headers of this response.
	// +optional
	ResponseHeadersToAdd []HTTPHeaderValue `json:"responseHeadersToAdd,omitempty"`
}

// LocalRateLimit limits what each pod accepts.
type LocalRateLimit struct {
	// TCP limits connections.
	// +optional
	TCP *TCPLocalRateLimit `json:"tcp,omitempty"`
	// HTTP limits requests.
	// +optional
	HTTP *HTTPLocalRateLimit `json:"http,omitempty"`
}

// RateLimit limits what the host accepts.
type RateLimit struct {
	// Local limits what each pod accepts.
	// +optional
	Local *LocalRateLimit `json:"local,omitempty"`
	// Global limits what all pods accept, with a rate limit service.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Global *apiextensionsv1.JSON `json:"global,omitempty"`
}

// RouteRateLimit limits the requests of a route.
type RouteRateLimit struct {
	// Local limits the requests to each pod.
	// +optional
	Local *HTTPLocalRateLimit `json:"local,omitempty"`
	// Global limits the requests to all pods, with a rate limit service.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Global *apiextensionsv1.JSON `json:"global,omitempty"`
}

// UpstreamRoute has the settings of requests with a path.
type UpstreamRoute struct {
	// Path is a regular expression for the whole path.
	Path string `json:"path"`
	// RateLimit limits these requests.
	// +optional
	RateLimit *RouteRateLimit `json:"rateLimit,omitempty"`
}

// HTTPHeaders has the settings of requests with headers, of osm-edge.
type HTTPHeaders struct {
	// Headers are the headers with their values.
	Headers []HTTPHeaderValue `json:"headers"`
	// RateLimit limits these requests.
	// +optional
	RateLimit *RouteRateLimit `json:"rateLimit,omitempty"`
}

// UpstreamTrafficSettingSpec is the desired state of an UpstreamTrafficSetting.
type UpstreamTrafficSettingSpec struct {
	// Host is the complete name of a Service of the namespace, or the host of an Egress that refers to the object. A name
	// without a dot is refused, as in Open Service Mesh.
	// +kubebuilder:validation:Pattern=`\.`
	Host string `json:"host"`
	// ConnectionSettings limit what the sidecar of a client opens at the same time.
	// +optional
	ConnectionSettings *ConnectionSettings `json:"connectionSettings,omitempty"`
	// RateLimit limits what the host accepts.
	// +optional
	RateLimit *RateLimit `json:"rateLimit,omitempty"`
	// Routes are the settings of some requests.
	// +optional
	Routes []UpstreamRoute `json:"httpRoutes,omitempty"`
	// HTTPHeaders are the settings of some requests, of osm-edge.
	// +optional
	HTTPHeaders []HTTPHeaders `json:"httpHeaders,omitempty"`
}

// UpstreamTrafficSetting limits the traffic to a host.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=upstreamtrafficsetting,categories=all
type UpstreamTrafficSetting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   UpstreamTrafficSettingSpec `json:"spec,omitempty"`
	Status PolicyStatus               `json:"status,omitzero"`
}

// UpstreamTrafficSettingList is a list of UpstreamTrafficSetting.
// +kubebuilder:object:root=true
type UpstreamTrafficSettingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []UpstreamTrafficSetting `json:"items"`
}
