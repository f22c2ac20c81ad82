package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VirtualServiceBackend is a service that a VirtualNode calls.
type VirtualServiceBackend struct {
	// VirtualServiceRef names the VirtualService. One of virtualServiceRef and virtualServiceARN is needed; the ARN
	// wins.
	// +optional
	VirtualServiceRef *VirtualServiceReference `json:"virtualServiceRef,omitempty"`
	// VirtualServiceARN names it by its resource name.
	// +optional
	VirtualServiceARN *string `json:"virtualServiceARN,omitempty"`
	// ClientPolicy for this backend, in place of backendDefaults.
	// +optional
	ClientPolicy *ClientPolicy `json:"clientPolicy,omitempty"`
}

// Backend is a thing that a VirtualNode calls.
type Backend struct {
	// VirtualService that is called.
	VirtualService VirtualServiceBackend `json:"virtualService"`
}

// BackendGroupReference names a BackendGroup.
type BackendGroupReference struct {
	// Namespace of the BackendGroup; absent or empty means that of the VirtualNode.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// Name of the BackendGroup.
	Name string `json:"name"`
}

// DNSResponseType says what the addresses in a DNS answer are.
// +kubebuilder:validation:Enum=ENDPOINTS;LOADBALANCER
type DNSResponseType string

// The response types; absent means LOADBALANCER.
const (
	DNSEndpoints    DNSResponseType = "ENDPOINTS"
	DNSLoadBalancer DNSResponseType = "LOADBALANCER"
)

// DNSServiceDiscovery finds a VirtualNode by a host name.
type DNSServiceDiscovery struct {
	// Hostname that is looked up.
	Hostname string `json:"hostname"`
	// ResponseType; absent means LOADBALANCER.
	// +optional
	ResponseType *DNSResponseType `json:"responseType,omitempty"`
}

// AWSCloudMapInstanceAttribute is a key and a value that an instance must carry.
type AWSCloudMapInstanceAttribute struct {
	// Key, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Key string `json:"key"`
	// Value, 1 to 1024 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// AWSCloudMapServiceDiscovery finds a VirtualNode's pods by a registered service. Immutable once set.
type AWSCloudMapServiceDiscovery struct {
	// NamespaceName of the registry, 1 to 1024 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	NamespaceName string `json:"namespaceName"`
	// ServiceName in it, 1 to 1024 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	ServiceName string `json:"serviceName"`
	// Attributes that instances must carry, all of them.
	// +optional
	Attributes []AWSCloudMapInstanceAttribute `json:"attributes,omitempty"`
}

// ServiceDiscovery is how a VirtualNode is found: one of the members.
type ServiceDiscovery struct {
	// AWSCloudMap finds it in a registry.
	// +optional
	AWSCloudMap *AWSCloudMapServiceDiscovery `json:"awsCloudMap,omitempty"`
	// DNS finds it by a host name.
	// +optional
	DNS *DNSServiceDiscovery `json:"dns,omitempty"`
}

// VirtualNodeSpec is what is wanted of a VirtualNode.
type VirtualNodeSpec struct {
	// AWSName; absent or empty it becomes name_namespace. Immutable.
	// +optional
	AWSName *string `json:"awsName,omitempty"`
	// PodSelector says which pods of the namespace are this node: absent none, {} all.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
	// Listeners take inbound traffic.
	// +kubebuilder:validation:MinItems=0
	// +optional
	Listeners []Listener `json:"listeners,omitempty"`
	// ServiceDiscovery; needed when there are listeners.
	// +optional
	ServiceDiscovery *ServiceDiscovery `json:"serviceDiscovery,omitempty"`
	// Backends are the services that this node calls.
	// +optional
	Backends []Backend `json:"backends,omitempty"`
	// BackendGroups add their services to the backends.
	// +optional
	BackendGroups []BackendGroupReference `json:"backendGroups,omitempty"`
	// BackendDefaults hold for backends without a client policy.
	// +optional
	BackendDefaults *BackendDefaults `json:"backendDefaults,omitempty"`
	// Logging of inbound and outbound traffic.
	// +optional
	Logging *Logging `json:"logging,omitempty"`
	// MeshRef is the Mesh. Read-only, set at admission.
	// +optional
	MeshRef *MeshReference `json:"meshRef,omitempty"`
}

// VirtualNodeStatus is what was seen of a VirtualNode.
type VirtualNodeStatus struct {
	// VirtualNodeARN is the resource name.
	// +optional
	VirtualNodeARN *string `json:"virtualNodeARN,omitempty"`
	// Conditions; one of type VirtualNodeActive.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// VirtualNode is a group of pods, or an external host, that serves and calls.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=all
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".status.virtualNodeARN",description="Resource name of the VirtualNode"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
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
