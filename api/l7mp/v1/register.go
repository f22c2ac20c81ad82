package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version.
var GroupVersion = schema.GroupVersion{Group: "l7mp.io", Version: "v1"}

// The kinds of the group.
const (
	KindVirtualService = "VirtualService"
	KindRoute          = "Route"
	KindTarget         = "Target"
)

var schemeBuilder = runtime.NewSchemeBuilder(addKinds)

// AddToScheme adds the kinds and their lists to a scheme.
var AddToScheme = schemeBuilder.AddToScheme

func addKinds(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&VirtualService{}, &VirtualServiceList{},
		&Route{}, &RouteList{},
		&Target{}, &TargetList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
