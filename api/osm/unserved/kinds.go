package unserved

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Unread is a part of an object that is not read.
type Unread struct{}

// UnmarshalJSON accepts every value.
func (*Unread) UnmarshalJSON([]byte) error { return nil }

// UDPRoute is a route of SMI for UDP.
// +kubebuilder:object:root=true
type UDPRoute struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Unread `json:"spec,omitzero"`
	Status Unread `json:"status,omitzero"`
}

// UDPRouteList is a list of UDPRoute.
// +kubebuilder:object:root=true
type UDPRouteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []UDPRoute `json:"items"`
}

// MultiClusterService is a service of several clusters, of Open Service Mesh.
// +kubebuilder:object:root=true
type MultiClusterService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Unread `json:"spec,omitzero"`
	Status Unread `json:"status,omitzero"`
}

// MultiClusterServiceList is a list of MultiClusterService.
// +kubebuilder:object:root=true
type MultiClusterServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MultiClusterService `json:"items"`
}

// ServiceExport offers a Service to other clusters. It is of osm-edge.
// +kubebuilder:object:root=true
type ServiceExport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Unread `json:"spec,omitzero"`
	Status Unread `json:"status,omitzero"`
}

// ServiceExportList is a list of ServiceExport.
// +kubebuilder:object:root=true
type ServiceExportList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServiceExport `json:"items"`
}

// ServiceImport is a Service of other clusters. It is of osm-edge.
// +kubebuilder:object:root=true
type ServiceImport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Unread `json:"spec,omitzero"`
	Status Unread `json:"status,omitzero"`
}

// ServiceImportList is a list of ServiceImport.
// +kubebuilder:object:root=true
type ServiceImportList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServiceImport `json:"items"`
}

// GlobalTrafficPolicy selects the clusters of an imported Service. It is of osm-edge.
// +kubebuilder:object:root=true
type GlobalTrafficPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Unread `json:"spec,omitzero"`
	Status Unread `json:"status,omitzero"`
}

// GlobalTrafficPolicyList is a list of GlobalTrafficPolicy.
// +kubebuilder:object:root=true
type GlobalTrafficPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GlobalTrafficPolicy `json:"items"`
}

// Plugin is a PipyJS module for sidecars, of osm-edge. It has no namespace.
// +kubebuilder:object:root=true
type Plugin struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Unread `json:"spec,omitzero"`
	Status Unread `json:"status,omitzero"`
}

// PluginList is a list of Plugin.
// +kubebuilder:object:root=true
type PluginList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Plugin `json:"items"`
}

// PluginChain selects the pods whose sidecars run Plugins. It is of osm-edge.
// +kubebuilder:object:root=true
type PluginChain struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Unread `json:"spec,omitzero"`
	Status Unread `json:"status,omitzero"`
}

// PluginChainList is a list of PluginChain.
// +kubebuilder:object:root=true
type PluginChainList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PluginChain `json:"items"`
}

// PluginConfig configures a Plugin. It is of osm-edge.
// +kubebuilder:object:root=true
type PluginConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Unread `json:"spec,omitzero"`
	Status Unread `json:"status,omitzero"`
}

// PluginConfigList is a list of PluginConfig.
// +kubebuilder:object:root=true
type PluginConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PluginConfig `json:"items"`
}

// NamespaceScoped returns false: objects of the kind have no namespace.
func (*Plugin) NamespaceScoped() bool { return false }
