package v1beta2

// HTTPRetryEvent is an outcome of an HTTP request that is worth another try.
// +kubebuilder:validation:Enum=server-error;gateway-error;client-error;stream-error
type HTTPRetryEvent string

// The HTTP events. They stand for fixed lists of status codes, except stream-error: a refused stream.
const (
	RetryServerError  HTTPRetryEvent = "server-error"
	RetryGatewayError HTTPRetryEvent = "gateway-error"
	RetryClientError  HTTPRetryEvent = "client-error"
	RetryStreamError  HTTPRetryEvent = "stream-error"
)

// TCPRetryEvent is an outcome of a connection attempt that is worth another try.
// +kubebuilder:validation:Enum=connection-error
type TCPRetryEvent string

// RetryConnectionError is a connection that could not be made.
const RetryConnectionError TCPRetryEvent = "connection-error"

// GRPCRetryEvent is a gRPC status that is worth another try.
// +kubebuilder:validation:Enum=cancelled;deadline-exceeded;internal;resource-exhausted;unavailable
type GRPCRetryEvent string

// The gRPC events.
const (
	RetryCancelled         GRPCRetryEvent = "cancelled"
	RetryDeadlineExceeded  GRPCRetryEvent = "deadline-exceeded"
	RetryInternal          GRPCRetryEvent = "internal"
	RetryResourceExhausted GRPCRetryEvent = "resource-exhausted"
	RetryUnavailable       GRPCRetryEvent = "unavailable"
)

// HTTPRetryPolicy says when and how often an HTTP request is tried again.
type HTTPRetryPolicy struct {
	// HTTPRetryEvents, 1 to 25.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=25
	// +optional
	HTTPRetryEvents []HTTPRetryEvent `json:"httpRetryEvents,omitempty"`
	// TCPRetryEvents, one.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1
	// +optional
	TCPRetryEvents []TCPRetryEvent `json:"tcpRetryEvents,omitempty"`
	// MaxRetries after the first try, 0 or more; 0 turns retries off.
	// +kubebuilder:validation:Minimum=0
	MaxRetries int64 `json:"maxRetries"`
	// PerRetryTimeout of each try.
	PerRetryTimeout Duration `json:"perRetryTimeout"`
}

// GRPCRetryPolicy says when and how often a gRPC request is tried again.
type GRPCRetryPolicy struct {
	// GRPCRetryEvents, 1 to 5.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5
	// +optional
	GRPCRetryEvents []GRPCRetryEvent `json:"grpcRetryEvents,omitempty"`
	// HTTPRetryEvents, 1 to 25.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=25
	// +optional
	HTTPRetryEvents []HTTPRetryEvent `json:"httpRetryEvents,omitempty"`
	// TCPRetryEvents, one.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1
	// +optional
	TCPRetryEvents []TCPRetryEvent `json:"tcpRetryEvents,omitempty"`
	// MaxRetries after the first try, 0 or more; 0 turns retries off.
	// +kubebuilder:validation:Minimum=0
	MaxRetries int64 `json:"maxRetries"`
	// PerRetryTimeout of each try.
	PerRetryTimeout Duration `json:"perRetryTimeout"`
}
