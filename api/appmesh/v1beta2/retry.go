package v1beta2

// HTTPRetryEvent is an outcome of an HTTP request that is retried.
// +kubebuilder:validation:Enum=server-error;gateway-error;client-error;stream-error
type HTTPRetryEvent string

// HTTP retry events. Each is a fixed list of status codes, except stream-error, which is a refused stream.
const (
	RetryServerError  HTTPRetryEvent = "server-error"
	RetryGatewayError HTTPRetryEvent = "gateway-error"
	RetryClientError  HTTPRetryEvent = "client-error"
	RetryStreamError  HTTPRetryEvent = "stream-error"
)

// TCPRetryEvent is an outcome of a connection attempt that is retried.
// +kubebuilder:validation:Enum=connection-error
type TCPRetryEvent string

// RetryConnectionError is a failed connection attempt.
const RetryConnectionError TCPRetryEvent = "connection-error"

// GRPCRetryEvent is a gRPC status that is retried.
// +kubebuilder:validation:Enum=cancelled;deadline-exceeded;internal;resource-exhausted;unavailable
type GRPCRetryEvent string

// gRPC retry events.
const (
	RetryCancelled         GRPCRetryEvent = "cancelled"
	RetryDeadlineExceeded  GRPCRetryEvent = "deadline-exceeded"
	RetryInternal          GRPCRetryEvent = "internal"
	RetryResourceExhausted GRPCRetryEvent = "resource-exhausted"
	RetryUnavailable       GRPCRetryEvent = "unavailable"
)

// HTTPRetryPolicy configures the retries of HTTP requests.
type HTTPRetryPolicy struct {
	// HTTPRetryEvents are the HTTP events to retry, 1 to 25.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=25
	// +optional
	HTTPRetryEvents []HTTPRetryEvent `json:"httpRetryEvents,omitempty"`
	// TCPRetryEvents are the connection events to retry, at most one.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1
	// +optional
	TCPRetryEvents []TCPRetryEvent `json:"tcpRetryEvents,omitempty"`
	// MaxRetries is the maximum number of retries, 0 or more. 0 disables retries.
	// +kubebuilder:validation:Minimum=0
	MaxRetries int64 `json:"maxRetries"`
	// PerRetryTimeout is the timeout of each try.
	PerRetryTimeout Duration `json:"perRetryTimeout"`
}

// GRPCRetryPolicy configures the retries of gRPC requests.
type GRPCRetryPolicy struct {
	// GRPCRetryEvents are the gRPC statuses to retry, 1 to 5.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5
	// +optional
	GRPCRetryEvents []GRPCRetryEvent `json:"grpcRetryEvents,omitempty"`
	// HTTPRetryEvents are the HTTP events to retry, 1 to 25.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=25
	// +optional
	HTTPRetryEvents []HTTPRetryEvent `json:"httpRetryEvents,omitempty"`
	// TCPRetryEvents are the connection events to retry, at most one.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1
	// +optional
	TCPRetryEvents []TCPRetryEvent `json:"tcpRetryEvents,omitempty"`
	// MaxRetries is the maximum number of retries, 0 or more. 0 disables retries.
	// +kubebuilder:validation:Minimum=0
	MaxRetries int64 `json:"maxRetries"`
	// PerRetryTimeout is the timeout of each try.
	PerRetryTimeout Duration `json:"perRetryTimeout"`
}
