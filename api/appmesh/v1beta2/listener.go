package v1beta2

// Listener takes inbound traffic of a VirtualNode on one port.
type Listener struct {
	// PortMapping is the port and its protocol.
	PortMapping PortMapping `json:"portMapping"`
	// HealthCheck that clients run against this listener.
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`
	// OutlierDetection that clients apply to hosts of this listener.
	// +optional
	OutlierDetection *OutlierDetection `json:"outlierDetection,omitempty"`
	// ConnectionPool limits what reaches the application.
	// +optional
	ConnectionPool *VirtualNodeConnectionPool `json:"connectionPool,omitempty"`
	// TLS of the listener.
	// +optional
	TLS *ListenerTLS `json:"tls,omitempty"`
	// Timeout of requests and connections.
	// +optional
	Timeout *ListenerTimeout `json:"timeout,omitempty"`
}

// HealthCheck is an active check.
type HealthCheck struct {
	// HealthyThreshold is how many successes in a row make a host healthy, 2 to 10.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	HealthyThreshold int64 `json:"healthyThreshold"`
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
	Protocol PortProtocol `json:"protocol"`
	// TimeoutMillis of one check, 2000 to 60000 ms.
	// +kubebuilder:validation:Minimum=2000
	// +kubebuilder:validation:Maximum=60000
	TimeoutMillis int64 `json:"timeoutMillis"`
	// UnhealthyThreshold is how many failures in a row make a host unhealthy, 2 to 10.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	UnhealthyThreshold int64 `json:"unhealthyThreshold"`
}

// OutlierDetection ejects hosts that answer with server errors.
type OutlierDetection struct {
	// MaxServerErrors in a row before ejection, 1 or more.
	// +kubebuilder:validation:Minimum=1
	MaxServerErrors int64 `json:"maxServerErrors"`
	// Interval between sweeps.
	Interval Duration `json:"interval"`
	// BaseEjectionDuration of a first ejection.
	BaseEjectionDuration Duration `json:"baseEjectionDuration"`
	// MaxEjectionPercent of hosts that may be out at once, 0 to 100.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxEjectionPercent int64 `json:"maxEjectionPercent"`
}

// VirtualNodeConnectionPool limits a listener: one of the members.
type VirtualNodeConnectionPool struct {
	// TCP limits.
	// +optional
	TCP *TCPConnectionPool `json:"tcp,omitempty"`
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

// TCPConnectionPool limits connections.
type TCPConnectionPool struct {
	// MaxConnections at once, 1 or more.
	// +kubebuilder:validation:Minimum=1
	MaxConnections int64 `json:"maxConnections"`
}

// HTTPConnectionPool limits connections and the queue behind them.
type HTTPConnectionPool struct {
	// MaxConnections at once, 1 or more.
	// +kubebuilder:validation:Minimum=1
	MaxConnections int64 `json:"maxConnections"`
	// MaxPendingRequests waiting for a connection, 1 or more; absent means no limit.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxPendingRequests *int64 `json:"maxPendingRequests,omitempty"`
}

// HTTP2ConnectionPool limits requests.
type HTTP2ConnectionPool struct {
	// MaxRequests at once, 1 or more.
	// +kubebuilder:validation:Minimum=1
	MaxRequests int64 `json:"maxRequests"`
}

// GRPCConnectionPool limits requests.
type GRPCConnectionPool struct {
	// MaxRequests at once, 1 or more.
	// +kubebuilder:validation:Minimum=1
	MaxRequests int64 `json:"maxRequests"`
}

// ListenerTLS is TLS as seen from a VirtualNode's listener.
type ListenerTLS struct {
	// Certificate that is shown to clients.
	Certificate ListenerTLSCertificate `json:"certificate"`
	// Validation of client certificates.
	// +optional
	Validation *ListenerTLSValidation `json:"validation,omitempty"`
	// Mode of the listener.
	Mode ListenerTLSMode `json:"mode"`
}

// ListenerTLSValidation says which client certificates are accepted.
type ListenerTLSValidation struct {
	// Trust is whom to believe.
	Trust ListenerTLSTrust `json:"trust"`
	// SubjectAlternativeNames that the client must carry one of.
	// +optional
	SubjectAlternativeNames *SubjectAlternativeNames `json:"subjectAlternativeNames,omitempty"`
}

// ListenerTLSTrust is whom a VirtualNode's listener believes: one of the members. ACM is not offered here.
type ListenerTLSTrust struct {
	// File names a bundle in the sidecar's file system.
	// +optional
	File *TLSFileTrust `json:"file,omitempty"`
	// SDS names a bundle of a secret discovery service.
	// +optional
	SDS *TLSSDSSecret `json:"sds,omitempty"`
}

// ListenerTimeout holds the timeouts for the listener's protocol.
type ListenerTimeout struct {
	// TCP timeouts.
	// +optional
	TCP *TCPTimeout `json:"tcp,omitempty"`
	// HTTP timeouts.
	// +optional
	HTTP *HTTPTimeout `json:"http,omitempty"`
	// HTTP2 timeouts.
	// +optional
	HTTP2 *HTTPTimeout `json:"http2,omitempty"`
	// GRPC timeouts.
	// +optional
	GRPC *HTTPTimeout `json:"grpc,omitempty"`
}

// TCPTimeout of a connection.
type TCPTimeout struct {
	// Idle time before a connection is closed.
	// +optional
	Idle *Duration `json:"idle,omitempty"`
}

// HTTPTimeout of requests and connections; gRPC has the same two.
type HTTPTimeout struct {
	// PerRequest is the time for a whole request, retries included; absent means 15 s.
	// +optional
	PerRequest *Duration `json:"perRequest,omitempty"`
	// Idle time before a stream is closed; absent means 300 s.
	// +optional
	Idle *Duration `json:"idle,omitempty"`
}
