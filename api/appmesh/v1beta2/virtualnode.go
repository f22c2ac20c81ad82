package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VirtualServiceBackend is a VirtualService to which a VirtualNode sends requests.
type VirtualServiceBackend struct {
	// VirtualServiceRef names the VirtualService. One of virtualServiceRef and virtualServiceARN is required; the ARN
	// takes precedence.
	// +optional
	VirtualServiceRef *VirtualServiceReference `json:"virtualServiceRef,omitempty"`
	// VirtualServiceARN is the resource name of the VirtualService.
	// +optional
	VirtualServiceARN *string `json:"virtualServiceARN,omitempty"`
	// ClientPolicy is the client policy for this backend. It replaces the one in backendDefaults.
	// +optional
	ClientPolicy *ClientPolicy `json:"clientPolicy,omitempty"`
}

// Backend is a destination of a VirtualNode's requests.
type Backend struct {
	// VirtualService is the backend.
	VirtualService VirtualServiceBackend `json:"virtualService"`
}

// BackendGroupReference names a BackendGroup.
type BackendGroupReference struct {
	// Namespace of the BackendGroup. The default is the namespace of the VirtualNode.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// Name of the BackendGroup.
	Name string `json:"name"`
}

// DNSResponseType is the meaning of the addresses in a DNS response.
// +kubebuilder:validation:Enum=ENDPOINTS;LOADBALANCER
type DNSResponseType string

// DNS response types. The default is LOADBALANCER.
const (
	DNSEndpoints    DNSResponseType = "ENDPOINTS"
	DNSLoadBalancer DNSResponseType = "LOADBALANCER"
)

// DNSServiceDiscovery discovers a VirtualNode by a host name.
type DNSServiceDiscovery struct {
	// Hostname to resolve.
	Hostname string `json:"hostname"`
	// ResponseType is the DNS response type. The default is LOADBALANCER.
	// +optional
	ResponseType *DNSResponseType `json:"responseType,omitempty"`
}

// AWSCloudMapInstanceAttribute is a required attribute of an instance.
type AWSCloudMapInstanceAttribute struct {
	// Key of the attribute, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Key string `json:"key"`
	// Value of the attribute, 1 to 1024 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// AWSCloudMapServiceDiscovery discovers the pods of a VirtualNode by a service registry. Immutable once set.
type AWSCloudMapServiceDiscovery struct {
	// NamespaceName is the namespace of the service in the registry, 1 to 1024 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	NamespaceName string `json:"namespaceName"`
	// ServiceName is the name of the service, 1 to 1024 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	ServiceName string `json:"serviceName"`
	// Attributes select instances that have all of them.
	// +optional
	Attributes []AWSCloudMapInstanceAttribute `json:"attributes,omitempty"`
}

// ServiceDiscovery configures the discovery of a VirtualNode. Only one field may be set.
type ServiceDiscovery struct {
	// AWSCloudMap discovers the VirtualNode by a service registry.
	// +optional
	AWSCloudMap *AWSCloudMapServiceDiscovery `json:"awsCloudMap,omitempty"`
	// DNS discovers the VirtualNode by a host name.
	// +optional
	DNS *DNSServiceDiscovery `json:"dns,omitempty"`
}

// VirtualNodeSpec is the desired state of a VirtualNode.
type VirtualNodeSpec struct {
	// AWSName is the name of the object in the mesh. The default is name_namespace. Immutable.
	// +optional
	AWSName *string `json:"awsName,omitempty"`
	// PodSelector selects the pods of this VirtualNode in its namespace: absent selects none, {} all.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
	// Listeners accept inbound traffic.
	// +kubebuilder:validation:MinItems=0
	// +optional
	Listeners []Listener `json:"listeners,omitempty"`
	// ServiceDiscovery configures the discovery of this VirtualNode. Required if there are listeners.
	// +optional
	ServiceDiscovery *ServiceDiscovery `json:"serviceDiscovery,omitempty"`
	// Backends are the VirtualServices to which this VirtualNode sends requests.
	// +optional
	Backends []Backend `json:"backends,omitempty"`
	// BackendGroups add the VirtualServices of the groups to the backends.
	// +optional
	BackendGroups []BackendGroupReference `json:"backendGroups,omitempty"`
	// BackendDefaults are the defaults for backends without a client policy.
	// +optional
	BackendDefaults *BackendDefaults `json:"backendDefaults,omitempty"`
	// Logging configures the access log of inbound and outbound traffic.
	// +optional
	Logging *Logging `json:"logging,omitempty"`
	// MeshRef is the Mesh of the object. Admission sets it; users must not.
	// +optional
	MeshRef *MeshReference `json:"meshRef,omitempty"`
}

// VirtualNodeStatus is the observed state of a VirtualNode.
type VirtualNodeStatus struct {
	// VirtualNodeARN is the resource name of the VirtualNode.
	// +optional
	VirtualNodeARN *string `json:"virtualNodeARN,omitempty"`
	// Conditions has one condition, of type VirtualNodeActive.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// VirtualNode is a workload, or a host outside the mesh.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=all
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".status.virtualNodeARN",description="Resource name of the VirtualNode"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="SERVED",type="string",JSONPath=".status.conditions[?(@.type==\"VirtualNodeActive\")].status",description="Whether everything that the object asks for is served"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.type==\"VirtualNodeActive\")].reason",description="Code of the worst finding"
// +kubebuilder:pruning:PreserveUnknownFields
type VirtualNode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   VirtualNodeSpec   `json:"spec,omitempty"`
	Status VirtualNodeStatus `json:"status,omitempty"`
}

// VirtualNodeList is a list of VirtualNode.
// +kubebuilder:object:root=true
type VirtualNodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VirtualNode `json:"items"`
}
