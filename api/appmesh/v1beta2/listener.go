package v1beta2

// Listener accepts inbound traffic of a VirtualNode on one port.
type Listener struct {
	// PortMapping is the port and the protocol of the listener.
	PortMapping PortMapping `json:"portMapping"`
	// HealthCheck is the active health check that clients perform.
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`
	// OutlierDetection is the outlier detection that clients perform for the hosts of this listener.
	// +optional
	OutlierDetection *OutlierDetection `json:"outlierDetection,omitempty"`
	// ConnectionPool limits the connections and requests to the application.
	// +optional
	ConnectionPool *VirtualNodeConnectionPool `json:"connectionPool,omitempty"`
	// TLS is the TLS configuration of the listener.
	// +optional
	TLS *ListenerTLS `json:"tls,omitempty"`
	// Timeout has the timeouts of requests and connections.
	// +optional
	Timeout *ListenerTimeout `json:"timeout,omitempty"`
}

// HealthCheck is an active health check.
type HealthCheck struct {
	// HealthyThreshold is the number of consecutive successes until a host is healthy, 2 to 10.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	HealthyThreshold int64 `json:"healthyThreshold"`
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
	Protocol PortProtocol `json:"protocol"`
	// TimeoutMillis is the timeout of a check, 2000 to 60000 ms.
	// +kubebuilder:validation:Minimum=2000
	// +kubebuilder:validation:Maximum=60000
	TimeoutMillis int64 `json:"timeoutMillis"`
	// UnhealthyThreshold is the number of consecutive failures until a host is unhealthy, 2 to 10.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	UnhealthyThreshold int64 `json:"unhealthyThreshold"`
}

// OutlierDetection ejects hosts that return server errors.
type OutlierDetection struct {
	// MaxServerErrors is the number of consecutive server errors until ejection, 1 or more.
	// +kubebuilder:validation:Minimum=1
	MaxServerErrors int64 `json:"maxServerErrors"`
	// Interval is the interval of the ejection analysis.
	Interval Duration `json:"interval"`
	// BaseEjectionDuration is the duration of the first ejection.
	BaseEjectionDuration Duration `json:"baseEjectionDuration"`
	// MaxEjectionPercent is the maximum percentage of ejected hosts, 0 to 100.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxEjectionPercent int64 `json:"maxEjectionPercent"`
}

// VirtualNodeConnectionPool limits the connections and requests of a listener. Only one field may be set.
type VirtualNodeConnectionPool struct {
	// TCP limits connections.
	// +optional
	TCP *TCPConnectionPool `json:"tcp,omitempty"`
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

// TCPConnectionPool limits TCP connections.
type TCPConnectionPool struct {
	// MaxConnections is the maximum number of concurrent connections, 1 or more.
	// +kubebuilder:validation:Minimum=1
	MaxConnections int64 `json:"maxConnections"`
}

// HTTPConnectionPool limits connections and pending requests.
type HTTPConnectionPool struct {
	// MaxConnections is the maximum number of concurrent connections, 1 or more.
	// +kubebuilder:validation:Minimum=1
	MaxConnections int64 `json:"maxConnections"`
	// MaxPendingRequests is the maximum number of requests that wait for a connection, 1 or more. The default is no
	// limit.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxPendingRequests *int64 `json:"maxPendingRequests,omitempty"`
}

// HTTP2ConnectionPool limits HTTP/2 requests.
type HTTP2ConnectionPool struct {
	// MaxRequests is the maximum number of concurrent requests, 1 or more.
	// +kubebuilder:validation:Minimum=1
	MaxRequests int64 `json:"maxRequests"`
}

// GRPCConnectionPool limits gRPC requests.
type GRPCConnectionPool struct {
	// MaxRequests is the maximum number of concurrent requests, 1 or more.
	// +kubebuilder:validation:Minimum=1
	MaxRequests int64 `json:"maxRequests"`
}

// ListenerTLS is the TLS configuration of a VirtualNode's listener.
type ListenerTLS struct {
	// Certificate is the server certificate.
	Certificate ListenerTLSCertificate `json:"certificate"`
	// Validation configures the validation of client certificates.
	// +optional
	Validation *ListenerTLSValidation `json:"validation,omitempty"`
	// Mode is the TLS mode of the listener.
	Mode ListenerTLSMode `json:"mode"`
}

// ListenerTLSValidation configures the validation of client certificates.
type ListenerTLSValidation struct {
	// Trust is the trust bundle.
	Trust ListenerTLSTrust `json:"trust"`
	// SubjectAlternativeNames are the accepted names. The client certificate must have one of them.
	// +optional
	SubjectAlternativeNames *SubjectAlternativeNames `json:"subjectAlternativeNames,omitempty"`
}

// ListenerTLSTrust is the trust bundle of a VirtualNode's listener. Only one field may be set. ACM is not available
// here.
type ListenerTLSTrust struct {
	// File is a trust bundle in the file system of the sidecar.
	// +optional
	File *TLSFileTrust `json:"file,omitempty"`
	// SDS is a trust bundle of a secret discovery service.
	// +optional
	SDS *TLSSDSSecret `json:"sds,omitempty"`
}

// ListenerTimeout has the timeouts for the protocol of the listener.
type ListenerTimeout struct {
	// TCP has the timeouts of a tcp listener.
	// +optional
	TCP *TCPTimeout `json:"tcp,omitempty"`
	// HTTP has the timeouts of an http listener.
	// +optional
	HTTP *HTTPTimeout `json:"http,omitempty"`
	// HTTP2 has the timeouts of an http2 listener.
	// +optional
	HTTP2 *HTTPTimeout `json:"http2,omitempty"`
	// GRPC has the timeouts of a grpc listener.
	// +optional
	GRPC *HTTPTimeout `json:"grpc,omitempty"`
}

// TCPTimeout has the timeouts of TCP connections.
type TCPTimeout struct {
	// Idle is the time after which an idle connection is closed.
	// +optional
	Idle *Duration `json:"idle,omitempty"`
}

// HTTPTimeout has the timeouts of HTTP and gRPC requests.
type HTTPTimeout struct {
	// PerRequest is the timeout of a request including its retries. The default is 15 s.
	// +optional
	PerRequest *Duration `json:"perRequest,omitempty"`
	// Idle is the time after which an idle stream is closed. The default is 300 s.
	// +optional
	Idle *Duration `json:"idle,omitempty"`
}
