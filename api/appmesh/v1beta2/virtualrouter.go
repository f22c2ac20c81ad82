package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VirtualRouterListener is a port that clients dial.
type VirtualRouterListener struct {
	// PortMapping is the port and its protocol.
	PortMapping PortMapping `json:"portMapping"`
}

// VirtualRouterSpec is what is wanted of a VirtualRouter.
type VirtualRouterSpec struct {
	// AWSName; absent or empty it becomes name_namespace. Immutable.
	// +optional
	AWSName *string `json:"awsName,omitempty"`
	// Listeners are the ports that clients dial.
	// +kubebuilder:validation:MinItems=1
	// +optional
	Listeners []VirtualRouterListener `json:"listeners,omitempty"`
	// Routes, in any order: priority and specificity decide.
	// +optional
	Routes []Route `json:"routes,omitempty"`
	// MeshRef is the Mesh. Read-only, set at admission.
	// +optional
	MeshRef *MeshReference `json:"meshRef,omitempty"`
}

// VirtualRouterStatus is what was seen of a VirtualRouter.
type VirtualRouterStatus struct {
	// VirtualRouterARN is the resource name.
	// +optional
	VirtualRouterARN *string `json:"virtualRouterARN,omitempty"`
	// RouteARNs are the resource names of the routes, by name of the route.
	// +optional
	RouteARNs map[string]string `json:"routeARNs,omitempty"`
	// Conditions; one of type VirtualRouterActive.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// VirtualRouter shares a service's traffic out over VirtualNodes.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=all
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".status.virtualRouterARN",description="Resource name of the VirtualRouter"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
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
