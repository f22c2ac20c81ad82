package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VirtualNodeServiceProvider forwards all requests of a VirtualService to a VirtualNode.
type VirtualNodeServiceProvider struct {
	// VirtualNodeRef names the VirtualNode. One of virtualNodeRef and virtualNodeARN is required; the ARN takes
	// precedence.
	// +optional
	VirtualNodeRef *VirtualNodeReference `json:"virtualNodeRef,omitempty"`
	// VirtualNodeARN is the resource name of the VirtualNode.
	// +optional
	VirtualNodeARN *string `json:"virtualNodeARN,omitempty"`
}

// VirtualRouterServiceProvider routes the requests of a VirtualService by a VirtualRouter.
type VirtualRouterServiceProvider struct {
	// VirtualRouterRef names the VirtualRouter. One of virtualRouterRef and virtualRouterARN is required; the ARN
	// takes precedence.
	// +optional
	VirtualRouterRef *VirtualRouterReference `json:"virtualRouterRef,omitempty"`
	// VirtualRouterARN is the resource name of the VirtualRouter.
	// +optional
	VirtualRouterARN *string `json:"virtualRouterARN,omitempty"`
}

// VirtualServiceProvider is the provider of a VirtualService. Only one field may be set.
type VirtualServiceProvider struct {
	// VirtualNode is a VirtualNode as provider.
	// +optional
	VirtualNode *VirtualNodeServiceProvider `json:"virtualNode,omitempty"`
	// VirtualRouter is a VirtualRouter as provider.
	// +optional
	VirtualRouter *VirtualRouterServiceProvider `json:"virtualRouter,omitempty"`
}

// VirtualServiceSpec is the desired state of a VirtualService.
type VirtualServiceSpec struct {
	// AWSName is the host name that clients use. The default is name.namespace. Immutable.
	// +optional
	AWSName *string `json:"awsName,omitempty"`
	// Provider of the service. A service without a provider has no routes.
	// +optional
	Provider *VirtualServiceProvider `json:"provider,omitempty"`
	// MeshRef is the Mesh of the object. Admission sets it; users must not.
	// +optional
	MeshRef *MeshReference `json:"meshRef,omitempty"`
}

// VirtualServiceStatus is the observed state of a VirtualService.
type VirtualServiceStatus struct {
	// VirtualServiceARN is the resource name of the VirtualService.
	// +optional
	VirtualServiceARN *string `json:"virtualServiceARN,omitempty"`
	// Conditions has one condition, of type VirtualServiceActive.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// VirtualService is a host name and the provider of its requests.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=all
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".status.virtualServiceARN",description="Resource name of the VirtualService"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="SERVED",type="string",JSONPath=".status.conditions[?(@.type==\"VirtualServiceActive\")].status",description="Whether everything that the object asks for is served"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.type==\"VirtualServiceActive\")].reason",description="Code of the worst finding"
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
