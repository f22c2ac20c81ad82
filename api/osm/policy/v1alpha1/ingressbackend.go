package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IngressTLS is how clients of a backend use TLS.
type IngressTLS struct {
	// SkipClientCertValidation is true if clients need no certificate.
	// +optional
	SkipClientCertValidation bool `json:"skipClientCertValidation"`
	// SNIHosts are the server names of the clients. None means all.
	// +optional
	SNIHosts []string `json:"sniHosts,omitempty"`
}

// IngressBackendService is a Service of the namespace that gets requests from outside of the mesh.
type IngressBackendService struct {
	// Name is the name of the Service.
	Name string `json:"name"`
	// Port is the port of the pods, not of the Service: its protocol is http, https or grpc.
	Port Port `json:"port"`
	// TLS is for the protocol https.
	// +optional
	TLS IngressTLS `json:"tls,omitzero"`
}

// IngressSource are clients outside of the mesh.
type IngressSource struct {
	// Kind is Service, IPRange or AuthenticatedPrincipal.
	// +kubebuilder:validation:Enum=Service;AuthenticatedPrincipal;IPRange
	Kind string `json:"kind"`
	// Name is the name of the Service, the range of addresses (CIDR), or a name in the certificate.
	Name string `json:"name"`
	// Namespace is the namespace of the Service.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// IngressBackendSpec is the desired state of an IngressBackend.
type IngressBackendSpec struct {
	// Backends are the Services.
	Backends []IngressBackendService `json:"backends"`
	// Sources are their clients.
	Sources []IngressSource `json:"sources"`
	// Matches are references to objects.
	// +optional
	Matches []LocalReference `json:"matches,omitempty"`
}

// IngressBackend allows clients outside of the mesh to call Services.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ingressbackend,categories=all
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.currentStatus`
type IngressBackend struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   IngressBackendSpec `json:"spec,omitempty"`
	Status PolicyStatus       `json:"status,omitzero"`
}

// IngressBackendList is a list of IngressBackend.
// +kubebuilder:object:root=true
type IngressBackendList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IngressBackend `json:"items"`
}
