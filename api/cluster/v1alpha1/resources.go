package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ResourceModel is a grade of nodes, for schedulers of workloads.
type ResourceModel struct {
	// Grade is the index of the model.
	Grade int `json:"grade"`
	// Ranges are the amounts of each resource of a node of this grade.
	Ranges []ResourceModelRange `json:"ranges"`
}

// ResourceModelRange is the range [min, max) of an amount.
type ResourceModelRange struct {
	// Name is the resource: cpu, memory, storage or ephemeral-storage.
	Name corev1.ResourceName `json:"name"`
	// Min is part of the range.
	Min resource.Quantity `json:"min"`
	// Max is not part of the range.
	Max resource.Quantity `json:"max"`
}

// APIEnablement has the kinds of a group and version.
type APIEnablement struct {
	// GroupVersion is the group and version, such as apps/v1.
	GroupVersion string `json:"groupVersion"`
	// Resources are the kinds.
	// +optional
	Resources []APIResource `json:"resources,omitempty"`
}

// APIResource is a kind and its plural name in URLs.
type APIResource struct {
	// Name is the plural name.
	Name string `json:"name"`
	// Kind is the kind.
	Kind string `json:"kind"`
}

// NodeSummary counts the nodes of a member cluster.
type NodeSummary struct {
	// TotalNum is the number of nodes.
	// +optional
	TotalNum int32 `json:"totalNum,omitempty"`
	// ReadyNum is the number of nodes that are ready.
	// +optional
	ReadyNum int32 `json:"readyNum,omitempty"`
}

// ResourceSummary sums up the resources of a member cluster.
type ResourceSummary struct {
	// Allocatable is the total of the nodes.
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// Allocating is the total of the pods that are not scheduled.
	// +optional
	Allocating corev1.ResourceList `json:"allocating,omitempty"`
	// Allocated is the total of the pods that are scheduled.
	// +optional
	Allocated corev1.ResourceList `json:"allocated,omitempty"`
	// AllocatableModelings counts the nodes of each grade.
	// +optional
	AllocatableModelings []AllocatableModeling `json:"allocatableModelings,omitempty"`
}

// AllocatableModeling counts the nodes of a grade.
type AllocatableModeling struct {
	// Grade is the index of the ResourceModel.
	Grade int `json:"grade"`
	// Count is the number of nodes.
	Count int `json:"count"`
}
