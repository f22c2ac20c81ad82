package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterAffinity selects clusters. A cluster has to satisfy every field that is set; exclude takes precedence.
type ClusterAffinity struct {
	// LabelSelector selects clusters by label.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// FieldSelector selects clusters by provider, region and zone.
	// +optional
	FieldSelector *FieldSelector `json:"fieldSelector,omitempty"`
	// ClusterNames are the names of the clusters. Empty means all.
	// +optional
	ClusterNames []string `json:"clusterNames,omitempty"`
	// ExcludeClusters are the names of clusters that are not selected.
	// +optional
	ExcludeClusters []string `json:"exclude,omitempty"`
}

// FieldSelector selects clusters by their fields. A cluster has to satisfy all expressions.
type FieldSelector struct {
	// MatchExpressions are the expressions: the key is provider, region or zone, the operator In or NotIn.
	// +optional
	MatchExpressions []FieldSelectorRequirement `json:"matchExpressions,omitempty"`
}

// FieldSelectorRequirement is a condition on a field of a cluster.
type FieldSelectorRequirement struct {
	// Key is the field.
	// +kubebuilder:validation:Enum=provider;region;zone
	Key string `json:"key"`
	// Operator is In or NotIn.
	// +kubebuilder:validation:Enum=In;NotIn
	Operator string `json:"operator"`
	// Values are the values of the field.
	// +optional
	Values []string `json:"values,omitempty"`
}

// ResourceSelector selects the objects of a kind.
type ResourceSelector struct {
	// APIVersion is the group and version of the kind.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind.
	Kind string `json:"kind"`
	// Namespace is the namespace of the objects. Empty means all.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// BackendStoreConfig is a store outside of the cluster for cached objects. It is not supported.
type BackendStoreConfig struct {
	// OpenSearch is an OpenSearch cluster.
	// +optional
	OpenSearch *OpenSearchConfig `json:"openSearch,omitempty"`
}

// OpenSearchConfig is an OpenSearch cluster.
type OpenSearchConfig struct {
	// Addresses are the URLs of the nodes.
	Addresses []string `json:"addresses"`
	// SecretRef names the Secret with the credentials.
	SecretRef LocalSecretReference `json:"secretRef"`
}

// LocalSecretReference names a Secret of the control plane.
type LocalSecretReference struct {
	// Namespace of the Secret.
	Namespace string `json:"namespace"`
	// Name of the Secret.
	Name string `json:"name"`
}

// ResourceRegistrySpec is the desired state of a ResourceRegistry.
type ResourceRegistrySpec struct {
	// TargetCluster selects the member clusters. Empty selects all.
	TargetCluster ClusterAffinity `json:"targetCluster"`
	// ResourceSelectors select the kinds.
	ResourceSelectors []ResourceSelector `json:"resourceSelectors"`
	// BackendStore is a store outside of the cluster. It is not supported: the condition BackendStore says so.
	// +optional
	BackendStore *BackendStoreConfig `json:"backendStore,omitempty"`
}

// ResourceRegistryStatus is the observed state of a ResourceRegistry.
type ResourceRegistryStatus struct {
	// Conditions has Ready, and BackendStore if spec.backendStore is set.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ResourceRegistry selects the kinds and the member clusters whose objects are cached.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ResourceRegistry struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	Spec ResourceRegistrySpec `json:"spec,omitempty"`
	// Status is the observed state.
	// +optional
	Status ResourceRegistryStatus `json:"status,omitempty"`
}

// ResourceRegistryList is a list of ResourceRegistries.
// +kubebuilder:object:root=true
type ResourceRegistryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ResourceRegistry `json:"items"`
}
