package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Retry says which failures of connections are retried.
type Retry struct {
	// RetryOn is never, connect-failure, disconnect or always. Empty means never.
	// +optional
	// +kubebuilder:validation:Enum="";never;connect-failure;disconnect;always
	RetryOn string `json:"retry_on,omitempty"`
	// NumRetries is the number of attempts after the first. The default is 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NumRetries *int32 `json:"num_retries,omitempty"`
	// Timeout is the time of an attempt, and the pause between two, in milliseconds. The default is 2000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Timeout *int32 `json:"timeout,omitempty"`
}

// RouteSpec is the desired state of a Route.
type RouteSpec struct {
	// Name has no effect.
	// +optional
	Name string `json:"name,omitempty"`
	// Destination is where connections end: the name of a Target, of a VirtualService or of a Service, or a Target
	// without a name.
	// +optional
	Destination *apiextensionsv1.JSON `json:"destination,omitempty"`
	// DestinationRef is the name of a Target, in place of destination.
	// +optional
	DestinationRef string `json:"destinationRef,omitempty"`
	// Cluster is in place of destination.
	// +optional
	Cluster *apiextensionsv1.JSON `json:"cluster,omitempty"`
	// Ingress is what connections pass on the way to the destination, each in the form of destination.
	// +optional
	Ingress []apiextensionsv1.JSON `json:"ingress,omitempty"`
	// Egress is what connections pass on the way back.
	// +optional
	Egress []apiextensionsv1.JSON `json:"egress,omitempty"`
	// Retry says which failures are retried.
	// +optional
	Retry *Retry `json:"retry,omitempty"`
}

// Route says where connections go, for several rules. Its singular name is not route: that is the name of the Route
// trait, as kubectl takes it.
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=l7mp,singular=l7mproute
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Accepted")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Route struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RouteSpec `json:"spec"`
	// +optional
	Status Status `json:"status,omitempty"`
}

// RouteList is a list of Route.
// +kubebuilder:object:root=true
type RouteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Route `json:"items"`
}
