package v1beta2

// PortNumber is a TCP port, 1 to 65535.
// +kubebuilder:validation:Minimum=1
// +kubebuilder:validation:Maximum=65535
type PortNumber int64

// PortProtocol is what is spoken on a port of a VirtualNode or VirtualRouter.
// +kubebuilder:validation:Enum=grpc;http;http2;tcp
type PortProtocol string

// The protocols. A VirtualGateway knows all but tcp.
const (
	ProtocolGRPC  PortProtocol = "grpc"
	ProtocolHTTP  PortProtocol = "http"
	ProtocolHTTP2 PortProtocol = "http2"
	ProtocolTCP   PortProtocol = "tcp"
)

// PortMapping is a port and what is spoken on it.
type PortMapping struct {
	// Port that is listened on.
	Port PortNumber `json:"port"`
	// Protocol spoken there.
	Protocol PortProtocol `json:"protocol"`
}
