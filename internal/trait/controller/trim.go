package controller

import (
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fieldManager owns the fields that the controller writes.
const fieldManager = "anymesh-route"

// trim removes what no plan reads from an object, so that fewer changes need an evaluation: fields of other managers,
// the status of built-in workloads, what is not a certificate in Secrets, and of pods all but the ports of containers.
func trim(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	trimManagers(u)
	if annotations := u.GetAnnotations(); annotations["kubectl.kubernetes.io/last-applied-configuration"] != "" {
		if delete(annotations, "kubectl.kubernetes.io/last-applied-configuration"); len(annotations) == 0 {
			annotations = nil
		}
		u.SetAnnotations(annotations)
	}
	switch kind := u.GroupVersionKind(); {
	case kind.Group == "apps" || kind.Group == "batch":
		delete(u.Object, "status")
	case kind.Group == "" && kind.Kind == "Secret":
		trimSecret(u)
	case kind.Group == "" && kind.Kind == "Pod":
		u.Object["spec"] = trimPodSpec(u.Object["spec"])
		delete(u.Object, "status")
	default:
		trimListeners(u)
	}
	return u, nil
}

// trimManagers keeps the fields of this controller, and those of the former controller of Routes.
func trimManagers(u *unstructured.Unstructured) {
	former := ""
	if ref := metav1.GetControllerOfNoCopy(u); ref != nil {
		former = string(ref.UID)
	}
	all, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	list, _ := all.([]any)
	var kept []any
	for _, item := range list {
		entry, _ := item.(map[string]any)
		if manager := entry["manager"]; manager == fieldManager || manager == former && former != "" {
			delete(entry, "time")
			kept = append(kept, entry)
		}
	}
	metadata, _ := u.Object["metadata"].(map[string]any)
	if len(kept) == 0 {
		delete(metadata, "managedFields")
		return
	}
	metadata["managedFields"] = kept
}

// trimListeners removes the number of routes of each listener of a gateway, which changes with each Route.
func trimListeners(u *unstructured.Unstructured) {
	listeners, _, _ := unstructured.NestedFieldNoCopy(u.Object, "status", "listeners")
	list, _ := listeners.([]any)
	for _, l := range list {
		if listener, ok := l.(map[string]any); ok {
			delete(listener, "attachedRoutes")
		}
	}
}

// trimSecret keeps certificates. Other Secrets are not for this controller.
func trimSecret(u *unstructured.Unstructured) {
	data, _ := u.Object["data"].(map[string]any)
	for key := range data {
		if key != "tls.crt" && key != "tls.key" && key != "ca.crt" {
			delete(data, key)
		}
	}
}

func trimPodSpec(spec any) any {
	from, _ := spec.(map[string]any)
	containers, _ := from["containers"].([]any)
	var kept []any
	for _, c := range containers {
		if container, ok := c.(map[string]any); ok {
			one := map[string]any{"name": container["name"]}
			if ports, ok := container["ports"]; ok {
				one["ports"] = ports
			}
			kept = append(kept, one)
		}
	}
	return map[string]any{"containers": kept}
}

// sameContent reports whether two versions of an object differ in nothing that a plan reads.
func sameContent(a, b *unstructured.Unstructured) bool {
	if a == nil || b == nil {
		return a == b
	}
	return reflect.DeepEqual(contentOf(a), contentOf(b))
}

// contentOf returns a shallow copy of an object without its resource version.
func contentOf(o *unstructured.Unstructured) map[string]any {
	out := maps.Clone(o.Object)
	if metadata, ok := out["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "resourceVersion")
		out["metadata"] = metadata
	}
	return out
}
