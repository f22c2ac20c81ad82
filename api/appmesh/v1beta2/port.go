package v1beta2

// PortNumber is a TCP port, 1 to 65535.
// +kubebuilder:validation:Minimum=1
// +kubebuilder:validation:Maximum=65535
type PortNumber int64

// PortProtocol is the protocol of a port of a VirtualNode or VirtualRouter.
// +kubebuilder:validation:Enum=grpc;http;http2;tcp
type PortProtocol string

// Protocols of ports. A VirtualGateway supports all but tcp.
const (
	ProtocolGRPC  PortProtocol = "grpc"
	ProtocolHTTP  PortProtocol = "http"
	ProtocolHTTP2 PortProtocol = "http2"
	ProtocolTCP   PortProtocol = "tcp"
)

// PortMapping is a port and its protocol.
type PortMapping struct {
	// Port number of the listener.
	Port PortNumber `json:"port"`
	// Protocol of the port.
	Protocol PortProtocol `json:"protocol"`
}
