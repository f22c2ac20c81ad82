package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SyncMode says who connects to whom.
// +kubebuilder:validation:Enum=Push;Pull
type SyncMode string

// Sync modes.
const (
	// Push means that the control plane connects to the API server of the member cluster.
	Push SyncMode = "Push"
	// Pull means that an agent in the member cluster connects to the control plane.
	Pull SyncMode = "Pull"
)

// Keys of the Secrets of a Cluster.
const (
	// SecretTokenKey is the key of the bearer token.
	SecretTokenKey = "token"
	// SecretCADataKey is the key of the PEM certificates that sign the serving certificate of the API server.
	SecretCADataKey = "caBundle"
)

// ConditionReady is the condition that tells whether the API server of the member cluster answers.
const ConditionReady = "Ready"

// LocalSecretReference names a Secret of the control plane.
type LocalSecretReference struct {
	// Namespace of the Secret.
	Namespace string `json:"namespace"`
	// Name of the Secret.
	Name string `json:"name"`
}

// ClusterSpec is the desired state of a Cluster.
type ClusterSpec struct {
	// ID identifies the member cluster: the uid of its namespace kube-system.
	// +optional
	// +kubebuilder:validation:MaxLength=128000
	ID string `json:"id,omitempty"`
	// SyncMode is Push or Pull.
	SyncMode SyncMode `json:"syncMode"`
	// APIEndpoint is the address of the API server: a URL, host:port or a host.
	// +optional
	APIEndpoint string `json:"apiEndpoint,omitempty"`
	// SecretRef names the Secret with the keys token and caBundle. The token reads the registered kinds.
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`
	// ImpersonatorSecretRef names the Secret with the key token. The token may impersonate users.
	// +optional
	ImpersonatorSecretRef *LocalSecretReference `json:"impersonatorSecretRef,omitempty"`
	// InsecureSkipTLSVerification disables the verification of the serving certificate of the API server.
	// +optional
	InsecureSkipTLSVerification bool `json:"insecureSkipTLSVerification,omitempty"`
	// ProxyURL is the proxy for connections to the API server.
	// +optional
	ProxyURL string `json:"proxyURL,omitempty"`
	// ProxyHeader has the headers for the proxy. Commas separate the values of a header.
	// +optional
	ProxyHeader map[string]string `json:"proxyHeader,omitempty"`
	// Provider is the name of the cloud provider.
	// +optional
	Provider string `json:"provider,omitempty"`
	// Region is the region of the member cluster.
	// +optional
	Region string `json:"region,omitempty"`
	// Zone is the zone of the member cluster. Deprecated: use zones.
	// +optional
	Zone string `json:"zone,omitempty"`
	// Zones are the zones of the member cluster.
	// +optional
	Zones []string `json:"zones,omitempty"`
	// Taints are for schedulers of workloads.
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`
	// ResourceModels are for schedulers of workloads.
	// +optional
	ResourceModels []ResourceModel `json:"resourceModels,omitempty"`
}

// ClusterStatus is the observed state of a Cluster.
type ClusterStatus struct {
	// KubernetesVersion is the version of the API server.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// APIEnablements are the kinds that the API server offers.
	// +optional
	APIEnablements []APIEnablement `json:"apiEnablements,omitempty"`
	// Conditions has at least Ready.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// NodeSummary counts the nodes.
	// +optional
	NodeSummary *NodeSummary `json:"nodeSummary,omitempty"`
	// ResourceSummary sums up the resources of the nodes.
	// +optional
	ResourceSummary *ResourceSummary `json:"resourceSummary,omitempty"`
}

// Cluster is a member cluster and how to connect to it.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.kubernetesVersion"
// +kubebuilder:printcolumn:name="Mode",type="string",JSONPath=".spec.syncMode"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="APIEndpoint",type="string",JSONPath=".spec.apiEndpoint",priority=1
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	Spec ClusterSpec `json:"spec"`
	// Status is the observed state.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterList is a list of Clusters.
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cluster `json:"items"`
}
