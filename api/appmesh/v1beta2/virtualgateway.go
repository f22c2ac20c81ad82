package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GatewayPortProtocol is the protocol of a port of a VirtualGateway.
// +kubebuilder:validation:Enum=grpc;http;http2
type GatewayPortProtocol string

// GatewayPortMapping is a port of a VirtualGateway and its protocol.
type GatewayPortMapping struct {
	// Port number of the listener.
	Port PortNumber `json:"port"`
	// Protocol of the port, except tcp.
	Protocol GatewayPortProtocol `json:"protocol"`
}

// VirtualGatewayHealthCheck is an active health check of a VirtualGateway.
type VirtualGatewayHealthCheck struct {
	// HealthyThreshold is the number of consecutive successes until a host is healthy, 2 to 10.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	// +optional
	HealthyThreshold *int64 `json:"healthyThreshold,omitempty"`
	// IntervalMillis is the interval of the checks, 5000 to 300000 ms.
	// +kubebuilder:validation:Minimum=5000
	// +kubebuilder:validation:Maximum=300000
	IntervalMillis int64 `json:"intervalMillis"`
	// Path is the path of the request. Only for http and http2.
	// +optional
	Path *string `json:"path,omitempty"`
	// Port to check. The default is the port of the listener.
	// +optional
	Port *PortNumber `json:"port,omitempty"`
	// Protocol is the protocol of the check.
	Protocol GatewayPortProtocol `json:"protocol"`
	// TimeoutMillis is the timeout of a check, 2000 to 60000 ms.
	// +kubebuilder:validation:Minimum=2000
	// +kubebuilder:validation:Maximum=60000
	TimeoutMillis int64 `json:"timeoutMillis"`
	// UnhealthyThreshold is the number of consecutive failures until a host is unhealthy, 2 to 10.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	UnhealthyThreshold int64 `json:"unhealthyThreshold"`
}

// VirtualGatewayConnectionPool limits the connections and requests of a listener. Only one field may be set.
type VirtualGatewayConnectionPool struct {
	// HTTP limits connections and pending requests.
	// +optional
	HTTP *HTTPConnectionPool `json:"http,omitempty"`
	// HTTP2 limits HTTP/2 requests.
	// +optional
	HTTP2 *HTTP2ConnectionPool `json:"http2,omitempty"`
	// GRPC limits gRPC requests.
	// +optional
	GRPC *GRPCConnectionPool `json:"grpc,omitempty"`
}

// VirtualGatewayListenerTLS is the TLS configuration of a VirtualGateway's listener.
type VirtualGatewayListenerTLS struct {
	// Certificate is the server certificate.
	Certificate ListenerTLSCertificate `json:"certificate"`
	// Validation configures the validation of client certificates.
	// +optional
	Validation *TLSValidation `json:"validation,omitempty"`
	// Mode is the TLS mode of the listener.
	Mode ListenerTLSMode `json:"mode"`
}

// VirtualGatewayListener accepts traffic from outside the mesh on one port.
type VirtualGatewayListener struct {
	// PortMapping is the port and the protocol of the listener.
	PortMapping GatewayPortMapping `json:"portMapping"`
	// HealthCheck is the health check of the gateway.
	// +optional
	HealthCheck *VirtualGatewayHealthCheck `json:"healthCheck,omitempty"`
	// ConnectionPool limits inbound connections and requests.
	// +optional
	ConnectionPool *VirtualGatewayConnectionPool `json:"connectionPool,omitempty"`
	// TLS is the TLS configuration of the listener.
	// +optional
	TLS *VirtualGatewayListenerTLS `json:"tls,omitempty"`
}

// VirtualGatewaySpec is the desired state of a VirtualGateway.
type VirtualGatewaySpec struct {
	// AWSName is the name of the object in the mesh. The default is name_namespace. Immutable.
	// +optional
	AWSName *string `json:"awsName,omitempty"`
	// NamespaceSelector selects the namespaces whose GatewayRoutes attach to this gateway: absent selects none, {}
	// all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// PodSelector selects the pods of this gateway in its namespace: absent selects none, {} all.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
	// GatewayRouteSelector selects the GatewayRoutes that attach to this gateway by their labels. The default is all.
	// +optional
	GatewayRouteSelector *metav1.LabelSelector `json:"gatewayRouteSelector,omitempty"`
	// Listeners accept traffic from outside the mesh.
	// +kubebuilder:validation:MinItems=0
	// +optional
	Listeners []VirtualGatewayListener `json:"listeners,omitempty"`
	// Logging configures the access log.
	// +optional
	Logging *Logging `json:"logging,omitempty"`
	// BackendDefaults are the defaults for all targets.
	// +optional
	BackendDefaults *BackendDefaults `json:"backendDefaults,omitempty"`
	// MeshRef is the Mesh of the object. Admission sets it; users must not.
	// +optional
	MeshRef *MeshReference `json:"meshRef,omitempty"`
}

// VirtualGatewayStatus is the observed state of a VirtualGateway.
type VirtualGatewayStatus struct {
	// VirtualGatewayARN is the resource name of the VirtualGateway.
	// +optional
	VirtualGatewayARN *string `json:"virtualGatewayARN,omitempty"`
	// Conditions has one condition, of type VirtualGatewayActive.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// VirtualGateway accepts traffic from outside the mesh.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=all
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".status.virtualGatewayARN",description="Resource name of the VirtualGateway"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="SERVED",type="string",JSONPath=".status.conditions[?(@.type==\"VirtualGatewayActive\")].status",description="Whether everything that the object asks for is served"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.type==\"VirtualGatewayActive\")].reason",description="Code of the worst finding"
// +kubebuilder:pruning:PreserveUnknownFields
type VirtualGateway struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   VirtualGatewaySpec   `json:"spec,omitempty"`
	Status VirtualGatewayStatus `json:"status,omitempty"`
}

// VirtualGatewayList is a list of VirtualGateway.
// +kubebuilder:object:root=true
type VirtualGatewayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VirtualGateway `json:"items"`
}
