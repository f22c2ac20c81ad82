package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EgressFilterType is the policy for traffic to destinations that are not backends.
// +kubebuilder:validation:Enum=ALLOW_ALL;DROP_ALL
type EgressFilterType string

// Egress filter types. The default is DROP_ALL.
const (
	EgressAllowAll EgressFilterType = "ALLOW_ALL"
	EgressDropAll  EgressFilterType = "DROP_ALL"
)

// EgressFilter is the egress filter of a mesh.
type EgressFilter struct {
	// Type is ALLOW_ALL or DROP_ALL.
	Type EgressFilterType `json:"type"`
}

// IPPreference restricts a mesh to one IP family.
// +kubebuilder:validation:Enum=IPv6_ONLY;IPv4_ONLY
type IPPreference string

// IP families.
const (
	IPv6Only IPPreference = "IPv6_ONLY"
	IPv4Only IPPreference = "IPv4_ONLY"
)

// MeshServiceDiscovery has the service discovery settings of a mesh.
type MeshServiceDiscovery struct {
	// IPPreference is the IP family of the mesh. The default is both.
	// +optional
	IPPreference *IPPreference `json:"ipPreference,omitempty"`
}

// MeshSpec is the desired state of a Mesh.
type MeshSpec struct {
	// AWSName is the name of the mesh. The default is metadata.name. Immutable.
	// +optional
	AWSName *string `json:"awsName,omitempty"`
	// NamespaceSelector selects the namespaces whose objects belong to the mesh: absent selects none, {} all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// EgressFilter is the egress filter. The default is DROP_ALL.
	// +optional
	EgressFilter *EgressFilter `json:"egressFilter,omitempty"`
	// MeshOwner is the account that shares the mesh. It is a part of resource names.
	// +optional
	MeshOwner *string `json:"meshOwner,omitempty"`
	// MeshServiceDiscovery has the service discovery settings.
	// +optional
	MeshServiceDiscovery *MeshServiceDiscovery `json:"meshServiceDiscovery,omitempty"`
}

// MeshStatus is the observed state of a Mesh.
type MeshStatus struct {
	// MeshARN is the resource name of the Mesh.
	// +optional
	MeshARN *string `json:"meshARN,omitempty"`
	// Conditions has one condition, of type MeshActive.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// Mesh is a service mesh and the selector of its namespaces.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".status.meshARN",description="Resource name of the Mesh"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="SERVED",type="string",JSONPath=".status.conditions[?(@.type==\"MeshActive\")].status",description="Whether everything that the object asks for is served"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.type==\"MeshActive\")].reason",description="Code of the worst finding"
// +kubebuilder:pruning:PreserveUnknownFields
type Mesh struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MeshSpec   `json:"spec,omitempty"`
	Status MeshStatus `json:"status,omitempty"`
}

// MeshList is a list of Mesh.
// +kubebuilder:object:root=true
type MeshList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Mesh `json:"items"`
}
