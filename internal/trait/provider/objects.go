package provider

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds that several providers read or write.
var (
	IngressKind      = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}
	IngressClassKind = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "IngressClass"}
	ServiceKind      = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	NamespaceKind    = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	SecretKind       = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
)

// ControllerOf returns spec.controller of an IngressClass; empty if there is no such class.
func ControllerOf(class string, reader Reader) string {
	o := reader.Get(IngressClassKind, "", class)
	if o == nil {
		return ""
	}
	name, _, _ := unstructured.NestedString(o.Object, "spec", "controller")
	return name
}

// Meta returns the metadata of an object of a Route.
func (r Route) Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: r.Namespace, Name: name, Labels: maps.Clone(r.Labels)}
}

// Unstructured converts an object of a Go type, without its status. It panics if the type is not that of an object.
func Unstructured(kind schema.GroupVersionKind, object runtime.Object) *unstructured.Unstructured {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", kind, err))
	}
	out := &unstructured.Unstructured{Object: content}
	out.SetGroupVersionKind(kind)
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	delete(content, "status")
	return out
}

// Typed converts an object to a Go type. Fields that do not fit the type are an error that names the object.
func Typed(object *unstructured.Unstructured, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		return fmt.Errorf("%s: %w", Describe(object), err)
	}
	return nil
}

// Describe names an object for messages: "Gateway infra/public".
func Describe(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + " " + object.GetName()
	}
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}
