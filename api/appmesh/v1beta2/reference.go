package v1beta2

import "k8s.io/apimachinery/pkg/types"

// MeshReference names the Mesh of an object. Admission sets it; users must not.
type MeshReference struct {
	// Name of the Mesh.
	Name string `json:"name"`
	// UID of the Mesh. A Mesh that is deleted and recreated has a new UID.
	UID types.UID `json:"uid"`
}

// VirtualNodeReference names a VirtualNode.
type VirtualNodeReference struct {
	// Namespace of the VirtualNode. The default is the namespace of the referring object.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// Name of the VirtualNode.
	Name string `json:"name"`
}

// VirtualServiceReference names a VirtualService.
type VirtualServiceReference struct {
	// Namespace of the VirtualService. The default is the namespace of the referring object.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// Name of the VirtualService. In a BackendGroup, "*" selects all VirtualServices of the namespace.
	Name string `json:"name"`
}

// VirtualRouterReference names a VirtualRouter.
type VirtualRouterReference struct {
	// Namespace of the VirtualRouter. The default is the namespace of the referring object.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// Name of the VirtualRouter.
	Name string `json:"name"`
}
