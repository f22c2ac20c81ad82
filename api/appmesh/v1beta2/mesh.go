package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EgressFilterType says what happens to traffic for destinations that are no backends.
// +kubebuilder:validation:Enum=ALLOW_ALL;DROP_ALL
type EgressFilterType string

// The filters; an absent filter is DROP_ALL.
const (
	EgressAllowAll EgressFilterType = "ALLOW_ALL"
	EgressDropAll  EgressFilterType = "DROP_ALL"
)

// EgressFilter of a mesh.
type EgressFilter struct {
	// Type is ALLOW_ALL or DROP_ALL.
	Type EgressFilterType `json:"type"`
}

// IPPreference restricts a mesh to one IP family.
// +kubebuilder:validation:Enum=IPv6_ONLY;IPv4_ONLY
type IPPreference string

// The families.
const (
	IPv6Only IPPreference = "IPv6_ONLY"
	IPv4Only IPPreference = "IPv4_ONLY"
)

// MeshServiceDiscovery holds service discovery settings of a mesh.
type MeshServiceDiscovery struct {
	// IPPreference; absent means either family.
	// +optional
	IPPreference *IPPreference `json:"ipPreference,omitempty"`
}

// MeshSpec is what is wanted of a Mesh.
type MeshSpec struct {
	// AWSName is the name of the mesh; absent or empty it becomes metadata.name. Immutable.
	// +optional
	AWSName *string `json:"awsName,omitempty"`
	// NamespaceSelector says which namespaces' objects become members: absent none, {} all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// EgressFilter; absent means DROP_ALL.
	// +optional
	EgressFilter *EgressFilter `json:"egressFilter,omitempty"`
	// MeshOwner is the account that shares the mesh; it becomes part of resource names.
	// +optional
	MeshOwner *string `json:"meshOwner,omitempty"`
	// MeshServiceDiscovery settings.
	// +optional
	MeshServiceDiscovery *MeshServiceDiscovery `json:"meshServiceDiscovery,omitempty"`
}

// MeshStatus is what was seen of a Mesh.
type MeshStatus struct {
	// MeshARN is the resource name.
	// +optional
	MeshARN *string `json:"meshARN,omitempty"`
	// Conditions; one of type MeshActive.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// Mesh is a service mesh and the namespaces that belong to it.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".status.meshARN",description="Resource name of the Mesh"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
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
