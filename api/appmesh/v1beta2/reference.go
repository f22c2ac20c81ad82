package v1beta2

import "k8s.io/apimachinery/pkg/types"

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
