package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VirtualRouterListener is a port to which clients connect.
type VirtualRouterListener struct {
	// PortMapping is the port and the protocol of the listener.
	PortMapping PortMapping `json:"portMapping"`
}

// VirtualRouterSpec is the desired state of a VirtualRouter.
type VirtualRouterSpec struct {
	// AWSName is the name of the object in the mesh. The default is name_namespace. Immutable.
	// +optional
	AWSName *string `json:"awsName,omitempty"`
	// Listeners are the ports to which clients connect.
	// +kubebuilder:validation:MinItems=1
	// +optional
	Listeners []VirtualRouterListener `json:"listeners,omitempty"`
	// Routes of the router. Their order is not significant: priority and specificity determine the precedence.
	// +optional
	Routes []Route `json:"routes,omitempty"`
	// MeshRef is the Mesh of the object. Admission sets it; users must not.
	// +optional
	MeshRef *MeshReference `json:"meshRef,omitempty"`
}

// VirtualRouterStatus is the observed state of a VirtualRouter.
type VirtualRouterStatus struct {
	// VirtualRouterARN is the resource name of the VirtualRouter.
	// +optional
	VirtualRouterARN *string `json:"virtualRouterARN,omitempty"`
	// RouteARNs are the resource names of the routes by route name.
	// +optional
	RouteARNs map[string]string `json:"routeARNs,omitempty"`
	// Conditions has one condition, of type VirtualRouterActive.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// VirtualRouter routes requests of VirtualServices to VirtualNodes.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=all
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".status.virtualRouterARN",description="Resource name of the VirtualRouter"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="SERVED",type="string",JSONPath=".status.conditions[?(@.type==\"VirtualRouterActive\")].status",description="Whether everything that the object asks for is served"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.type==\"VirtualRouterActive\")].reason",description="Code of the worst finding"
// +kubebuilder:pruning:PreserveUnknownFields
type VirtualRouter struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   VirtualRouterSpec   `json:"spec,omitempty"`
	Status VirtualRouterStatus `json:"status,omitempty"`
}

// VirtualRouterList is a list of VirtualRouter.
// +kubebuilder:object:root=true
type VirtualRouterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VirtualRouter `json:"items"`
}
