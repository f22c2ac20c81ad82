package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GatewayPortProtocol is what is spoken on a port of a VirtualGateway.
// +kubebuilder:validation:Enum=grpc;http;http2
type GatewayPortProtocol string

// GatewayPortMapping is a port of a VirtualGateway and what is spoken on it.
type GatewayPortMapping struct {
	// Port that is listened on.
	Port PortNumber `json:"port"`
	// Protocol spoken there; tcp is not offered.
	Protocol GatewayPortProtocol `json:"protocol"`
}

// VirtualGatewayHealthCheck is an active check of a VirtualGateway.
type VirtualGatewayHealthCheck struct {
	// HealthyThreshold is how many successes in a row make a host healthy, 2 to 10.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	// +optional
	HealthyThreshold *int64 `json:"healthyThreshold,omitempty"`
	// IntervalMillis between checks, 5000 to 300000 ms.
	// +kubebuilder:validation:Minimum=5000
	// +kubebuilder:validation:Maximum=300000
	IntervalMillis int64 `json:"intervalMillis"`
	// Path that is asked for; http and http2 only.
	// +optional
	Path *string `json:"path,omitempty"`
	// Port that is checked; absent means the listener's.
	// +optional
	Port *PortNumber `json:"port,omitempty"`
	// Protocol of the check.
	Protocol GatewayPortProtocol `json:"protocol"`
	// TimeoutMillis of one check, 2000 to 60000 ms.
	// +kubebuilder:validation:Minimum=2000
	// +kubebuilder:validation:Maximum=60000
	TimeoutMillis int64 `json:"timeoutMillis"`
	// UnhealthyThreshold is how many failures in a row make a host unhealthy, 2 to 10.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	UnhealthyThreshold int64 `json:"unhealthyThreshold"`
}

// VirtualGatewayConnectionPool limits a listener: one of the members.
type VirtualGatewayConnectionPool struct {
	// HTTP limits.
	// +optional
	HTTP *HTTPConnectionPool `json:"http,omitempty"`
	// HTTP2 limits.
	// +optional
	HTTP2 *HTTP2ConnectionPool `json:"http2,omitempty"`
	// GRPC limits.
	// +optional
	GRPC *GRPCConnectionPool `json:"grpc,omitempty"`
}

// VirtualGatewayListenerTLS is TLS as seen from a VirtualGateway's listener.
type VirtualGatewayListenerTLS struct {
	// Certificate that is shown to clients.
	Certificate ListenerTLSCertificate `json:"certificate"`
	// Validation of client certificates.
	// +optional
	Validation *TLSValidation `json:"validation,omitempty"`
	// Mode of the listener.
	Mode ListenerTLSMode `json:"mode"`
}

// VirtualGatewayListener takes traffic from outside on one port.
type VirtualGatewayListener struct {
	// PortMapping is the port and its protocol.
	PortMapping GatewayPortMapping `json:"portMapping"`
	// HealthCheck of the gateway.
	// +optional
	HealthCheck *VirtualGatewayHealthCheck `json:"healthCheck,omitempty"`
	// ConnectionPool limits what is let in.
	// +optional
	ConnectionPool *VirtualGatewayConnectionPool `json:"connectionPool,omitempty"`
	// TLS of the listener.
	// +optional
	TLS *VirtualGatewayListenerTLS `json:"tls,omitempty"`
}

// VirtualGatewaySpec is what is wanted of a VirtualGateway.
type VirtualGatewaySpec struct {
	// AWSName; absent or empty it becomes name_namespace. Immutable.
	// +optional
	AWSName *string `json:"awsName,omitempty"`
	// NamespaceSelector says which namespaces' GatewayRoutes attach: absent none, {} all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// PodSelector says which pods of the namespace are this gateway: absent none, {} all.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
	// GatewayRouteSelector says which GatewayRoutes attach by label; absent all.
	// +optional
	GatewayRouteSelector *metav1.LabelSelector `json:"gatewayRouteSelector,omitempty"`
	// Listeners take traffic from outside.
	// +kubebuilder:validation:MinItems=0
	// +optional
	Listeners []VirtualGatewayListener `json:"listeners,omitempty"`
	// Logging of traffic.
	// +optional
	Logging *Logging `json:"logging,omitempty"`
	// BackendDefaults hold for all targets.
	// +optional
	BackendDefaults *BackendDefaults `json:"backendDefaults,omitempty"`
	// MeshRef is the Mesh. Read-only, set at admission.
	// +optional
	MeshRef *MeshReference `json:"meshRef,omitempty"`
}

// VirtualGatewayStatus is what was seen of a VirtualGateway.
type VirtualGatewayStatus struct {
	// VirtualGatewayARN is the resource name.
	// +optional
	VirtualGatewayARN *string `json:"virtualGatewayARN,omitempty"`
	// Conditions; one of type VirtualGatewayActive.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// VirtualGateway lets traffic into the mesh.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=all
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".status.virtualGatewayARN",description="Resource name of the VirtualGateway"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
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
