package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GatewayReference is a Service of gateways, with its share of the connections.
type GatewayReference struct {
	// Service is the name of the Service.
	Service string `json:"service"`
	// Namespace is the namespace of the Service.
	Namespace string `json:"namespace"`
	// Weight is the share of the Service.
	// +optional
	Weight *int32 `json:"weight,omitempty"`
}

// EgressReference names an Egress.
type EgressReference struct {
	// Name is the name of the Egress.
	Name string `json:"name"`
	// Namespace is the namespace of the Egress.
	Namespace string `json:"namespace"`
}

// EgressGatewayRule has the gateways of some Egress objects.
type EgressGatewayRule struct {
	// EgressPolicies are the Egress objects.
	EgressPolicies []EgressReference `json:"egressPolicies"`
	// EgressGateways are the gateways of their connections.
	EgressGateways []GatewayReference `json:"egressGateways"`
}

// EgressGatewaySpec is the desired state of an EgressGateway.
type EgressGatewaySpec struct {
	// Global are the gateways of the connections that no rule is for.
	// +optional
	Global []GatewayReference `json:"global,omitempty"`
	// Rules have the gateways of the connections of Egress objects.
	// +optional
	Rules []EgressGatewayRule `json:"rules,omitempty"`
	// Matches are references to objects.
	// +optional
	Matches []LocalReference `json:"matches,omitempty"`
}

// EgressGateway sends connections to destinations outside of the mesh through gateways. It is of osm-edge, and has no
// effect.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=egressgateway,categories=all
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.currentStatus`
type EgressGateway struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   EgressGatewaySpec `json:"spec,omitempty"`
	Status PolicyStatus      `json:"status,omitzero"`
}

// EgressGatewayList is a list of EgressGateway.
// +kubebuilder:object:root=true
type EgressGatewayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EgressGateway `json:"items"`
}
