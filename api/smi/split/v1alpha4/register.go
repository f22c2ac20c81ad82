package v1alpha4

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version.
var GroupVersion = schema.GroupVersion{Group: "split.smi-spec.io", Version: "v1alpha4"}

var schemeBuilder = runtime.NewSchemeBuilder(addKinds)

// AddToScheme adds the kinds and their lists to a scheme.
var AddToScheme = schemeBuilder.AddToScheme

func addKinds(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&TrafficSplit{}, &TrafficSplitList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
