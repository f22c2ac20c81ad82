package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Condition is one observation about an object; its type is one of the ...Active constants.
type Condition struct {
	// Type of the condition.
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`
	// LastTransitionTime is when the status last changed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
	// Reason is one word for machines: why the status is what it is.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message says the same to people, naming the field at fault.
	// +optional
	Message string `json:"message,omitempty"`
}

// MeshReference names the Mesh that an object belongs to. Set at admission, never by users.
type MeshReference struct {
	// Name of the Mesh.
	Name string `json:"name"`
	// UID of the Mesh; a Mesh deleted and made again under the same name is another Mesh.
	UID types.UID `json:"uid"`
}

// VirtualNodeReference names a VirtualNode.
type VirtualNodeReference struct {
	// Namespace of the VirtualNode; absent or empty means that of the object holding the reference.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// Name of the VirtualNode.
	Name string `json:"name"`
}

// VirtualServiceReference names a VirtualService.
type VirtualServiceReference struct {
	// Namespace of the VirtualService; absent or empty means that of the object holding the reference.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// Name of the VirtualService. In a BackendGroup, "*" stands for all of the namespace.
	Name string `json:"name"`
}

// VirtualRouterReference names a VirtualRouter.
type VirtualRouterReference struct {
	// Namespace of the VirtualRouter; absent or empty means that of the object holding the reference.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// Name of the VirtualRouter.
	Name string `json:"name"`
}

// DurationUnit is the unit of a Duration.
// +kubebuilder:validation:Enum=s;ms
type DurationUnit string

// The two units.
const (
	DurationSeconds      DurationUnit = "s"
	DurationMilliseconds DurationUnit = "ms"
)

// Duration is a length of time, value times unit. Zero means "no limit" where a limit is asked for.
type Duration struct {
	// Unit is s or ms.
	Unit DurationUnit `json:"unit"`
	// Value in that unit, 0 or more.
	// +kubebuilder:validation:Minimum=0
	Value int64 `json:"value"`
}

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
