package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version that clients see.
var GroupVersion = schema.GroupVersion{Group: "search.karmada.io", Version: "v1alpha1"}

// StorageGroupVersion is the API group and version of the CustomResourceDefinition that stores the objects.
var StorageGroupVersion = schema.GroupVersion{Group: "aggregate.anymesh.dev", Version: "v1alpha1"}

var schemeBuilder = runtime.NewSchemeBuilder(addKinds)

// AddStorageToScheme adds the kinds and their lists to a scheme with StorageGroupVersion.
var AddStorageToScheme = schemeBuilder.AddToScheme

func addKinds(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(StorageGroupVersion, &ResourceRegistry{}, &ResourceRegistryList{})
	metav1.AddToGroupVersion(scheme, StorageGroupVersion)
	return nil
}
