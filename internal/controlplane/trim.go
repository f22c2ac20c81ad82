package controlplane

import (
	"reflect"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lastApplied is the annotation in which `kubectl apply` keeps a copy of the object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// trimMetadata removes metadata that nothing reads, and shares strings that many objects have. It is a transform for
// the informer cache.
func trimMetadata(object any) (any, error) {
	o, ok := object.(client.Object)
	if !ok {
		return object, nil
	}
	if o.GetManagedFields() != nil {
		o.SetManagedFields(nil)
	}
	if annotations := o.GetAnnotations(); annotations[lastApplied] != "" {
		if delete(annotations, lastApplied); len(annotations) == 0 {
			annotations = nil
		}
		o.SetAnnotations(annotations)
	}
	o.SetNamespace(unique.Make(o.GetNamespace()).Value())
	if field := reflect.ValueOf(o).Elem().FieldByName("TypeMeta"); field.IsValid() {
		t := field.Addr().Interface().(*metav1.TypeMeta)
		t.APIVersion, t.Kind = unique.Make(t.APIVersion).Value(), unique.Make(t.Kind).Value()
	}
	return o, nil
}
