package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LoadBalancer says how connections are shared among endpoints.
type LoadBalancer struct {
	// Policy is RoundRobin, ConsistentHash or another policy of the proxy.
	// +optional
	Policy string `json:"policy,omitempty"`
	// Key is a JSON pointer into the metadata of the connection, whose value ConsistentHash hashes.
	// +optional
	Key string `json:"key,omitempty"`
}

// EndpointSpec is the address of an endpoint.
type EndpointSpec struct {
	// Address is an IP address, a host name or, for unix sockets, a file.
	// +optional
	Address string `json:"address,omitempty"`
	// Filename is the file of a unix socket.
	// +optional
	Filename string `json:"filename,omitempty"`
	// Port has no effect: the port of the cluster counts.
	// +optional
	Port int32 `json:"port,omitempty"`
	// Weight is the share of connections, from 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Weight *int32 `json:"weight,omitempty"`
}

// Endpoint is an address, or a selector of pods.
type Endpoint struct {
	// Name has no effect.
	// +optional
	Name string `json:"name,omitempty"`
	// Spec is the address.
	// +optional
	Spec *EndpointSpec `json:"spec,omitempty"`
	// Weight is in place of spec.weight.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Weight *int32 `json:"weight,omitempty"`
	// Selector selects the pods, in place of an address.
	// +optional
	Selector *Selector `json:"selector,omitempty"`
}

// Cluster is what a proxy connects to.
type Cluster struct {
	// Name has no effect: the name of the object counts.
	// +optional
	Name string `json:"name,omitempty"`
	// Spec has the protocol as its only key, with its parameters: {"TCP": {"port": 9000}}. The form {"protocol": "TCP",
	// "port": 9000} is accepted, too.
	// +optional
	Spec *apiextensionsv1.JSON `json:"spec,omitempty"`
	// Endpoints are the addresses.
	// +optional
	Endpoints []Endpoint `json:"endpoints,omitempty"`
	// EndpointNum has no effect.
	// +optional
	EndpointNum int32 `json:"endpointNum,omitempty"`
	// LoadBalancer says how connections are shared among the endpoints.
	// +optional
	LoadBalancer *LoadBalancer `json:"loadbalancer,omitempty"`
	// Options have no effect.
	// +optional
	Options *apiextensionsv1.JSON `json:"options,omitempty"`
}

// TargetSpec is the desired state of a Target.
type TargetSpec struct {
	// Selector selects the pods whose proxies have the Target. Without it, all have it.
	// +optional
	Selector *Selector `json:"selector,omitempty"`
	// Cluster is what the proxies connect to.
	// +optional
	Cluster *Cluster `json:"cluster,omitempty"`
	// LinkedVirtualService is the name of a VirtualService with the protocol, the port and the pods.
	// +optional
	LinkedVirtualService string `json:"linkedVirtualService,omitempty"`
}

// Target says how proxies connect to a service.
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=l7mp
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Accepted")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Target struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TargetSpec `json:"spec"`
	// +optional
	Status Status `json:"status,omitempty"`
}

// TargetList is a list of Target.
// +kubebuilder:object:root=true
type TargetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Target `json:"items"`
}
