package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VirtualNodeServiceProvider sends all of a service's traffic to one VirtualNode.
type VirtualNodeServiceProvider struct {
	// VirtualNodeRef names the VirtualNode. One of virtualNodeRef and virtualNodeARN is needed; the ARN wins.
	// +optional
	VirtualNodeRef *VirtualNodeReference `json:"virtualNodeRef,omitempty"`
	// VirtualNodeARN names it by its resource name.
	// +optional
	VirtualNodeARN *string `json:"virtualNodeARN,omitempty"`
}

// VirtualRouterServiceProvider routes a service's traffic.
type VirtualRouterServiceProvider struct {
	// VirtualRouterRef names the VirtualRouter. One of virtualRouterRef and virtualRouterARN is needed; the ARN wins.
	// +optional
	VirtualRouterRef *VirtualRouterReference `json:"virtualRouterRef,omitempty"`
	// VirtualRouterARN names it by its resource name.
	// +optional
	VirtualRouterARN *string `json:"virtualRouterARN,omitempty"`
}

// VirtualServiceProvider is what answers for a service: one of the members.
type VirtualServiceProvider struct {
	// VirtualNode as provider.
	// +optional
	VirtualNode *VirtualNodeServiceProvider `json:"virtualNode,omitempty"`
	// VirtualRouter as provider.
	// +optional
	VirtualRouter *VirtualRouterServiceProvider `json:"virtualRouter,omitempty"`
}

// VirtualServiceSpec is what is wanted of a VirtualService.
type VirtualServiceSpec struct {
	// AWSName is the one host name clients use; absent or empty it becomes name.namespace. Immutable.
	// +optional
	AWSName *string `json:"awsName,omitempty"`
	// Provider; absent means a service that answers no request.
	// +optional
	Provider *VirtualServiceProvider `json:"provider,omitempty"`
	// MeshRef is the Mesh. Read-only, set at admission.
	// +optional
	MeshRef *MeshReference `json:"meshRef,omitempty"`
}

// VirtualServiceStatus is what was seen of a VirtualService.
type VirtualServiceStatus struct {
	// VirtualServiceARN is the resource name.
	// +optional
	VirtualServiceARN *string `json:"virtualServiceARN,omitempty"`
	// Conditions; one of type VirtualServiceActive.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// VirtualService is a name that clients call and the thing that answers.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=all
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".status.virtualServiceARN",description="Resource name of the VirtualService"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:pruning:PreserveUnknownFields
type VirtualService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   VirtualServiceSpec   `json:"spec,omitempty"`
	Status VirtualServiceStatus `json:"status,omitempty"`
}

// VirtualServiceList is a list of VirtualService.
// +kubebuilder:object:root=true
type VirtualServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VirtualService `json:"items"`
}
