package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version.
var GroupVersion = schema.GroupVersion{Group: "appmesh.k8s.aws", Version: "v1beta2"}

var schemeBuilder = runtime.NewSchemeBuilder(addKinds)

// AddToScheme adds the kinds and their lists to a scheme.
var AddToScheme = schemeBuilder.AddToScheme

func addKinds(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Mesh{}, &MeshList{},
		&VirtualNode{}, &VirtualNodeList{},
		&VirtualService{}, &VirtualServiceList{},
		&VirtualRouter{}, &VirtualRouterList{},
		&VirtualGateway{}, &VirtualGatewayList{},
		&GatewayRoute{}, &GatewayRouteList{},
		&BackendGroup{}, &BackendGroupList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
