package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version.
var GroupVersion = schema.GroupVersion{Group: "standard.oam.dev", Version: "v1alpha1"}

// RouteKind is the kind of Routes.
var RouteKind = GroupVersion.WithKind("Route")

var schemeBuilder = runtime.NewSchemeBuilder(addKinds)

// AddToScheme adds the kinds and their lists to a scheme.
var AddToScheme = schemeBuilder.AddToScheme

func addKinds(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Route{}, &RouteList{}, &PodSpecWorkload{}, &PodSpecWorkloadList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
