package unserved

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// API groups and versions of the kinds.
var (
	Specs    = schema.GroupVersion{Group: "specs.smi-spec.io", Version: "v1alpha4"}
	Config   = schema.GroupVersion{Group: "config.openservicemesh.io", Version: "v1alpha1"}
	Clusters = schema.GroupVersion{Group: "flomesh.io", Version: "v1alpha1"}
	Plugins  = schema.GroupVersion{Group: "plugin.flomesh.io", Version: "v1alpha1"}
)

// AddToScheme adds the kinds and their lists to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(Specs, &UDPRoute{}, &UDPRouteList{})
	scheme.AddKnownTypes(Config, &MultiClusterService{}, &MultiClusterServiceList{})
	scheme.AddKnownTypes(Clusters, &ServiceExport{}, &ServiceExportList{}, &ServiceImport{}, &ServiceImportList{},
		&GlobalTrafficPolicy{}, &GlobalTrafficPolicyList{})
	scheme.AddKnownTypes(Plugins, &Plugin{}, &PluginList{}, &PluginChain{}, &PluginChainList{}, &PluginConfig{},
		&PluginConfigList{})
	for _, gv := range []schema.GroupVersion{Specs, Config, Clusters, Plugins} {
		metav1.AddToGroupVersion(scheme, gv)
	}
	return nil
}
