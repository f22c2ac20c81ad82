package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EgressSource is a client of an Egress.
type EgressSource struct {
	Reference `json:",inline"`
	// MTLS is the certificate that the sidecars of osm-edge use for the connections.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	MTLS *apiextensionsv1.JSON `json:"mtls,omitempty"`
}

// EgressSpec is the desired state of an Egress.
type EgressSpec struct {
	// Sources are the ServiceAccounts that may connect.
	Sources []EgressSource `json:"sources"`
	// Hosts are host names, for http and https.
	// +optional
	Hosts []string `json:"hosts,omitempty"`
	// IPAddresses are ranges of addresses (CIDR).
	// +optional
	IPAddresses []string `json:"ipAddresses,omitempty"`
	// Ports are the ports with their protocols: http, https, tcp or tcp-server-first.
	Ports []Port `json:"ports"`
	// Matches are HTTPRouteGroups, which restrict the requests of http, and at most one UpstreamTrafficSetting.
	// +optional
	Matches []LocalReference `json:"matches,omitempty"`
}

// Egress allows connections to destinations outside of the mesh.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=egresses,shortName=egress,categories=all
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.currentStatus`
type Egress struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   EgressSpec   `json:"spec,omitempty"`
	Status PolicyStatus `json:"status,omitzero"`
}

// EgressList is a list of Egress.
// +kubebuilder:object:root=true
type EgressList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Egress `json:"items"`
}
