package dryrun

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/discovery"
)

// applicationSources returns the sources of the objects of an application: for each component its workload, and then
// its traits. It returns none if the application has another number of objects, because it has an error.
func applicationSources(owner *unstructured.Unstructured, objects int) []Source {
	var out []Source
	components, _, _ := unstructured.NestedSlice(owner.Object, "spec", "components")
	for i, item := range components {
		component, _ := item.(map[string]any)
		name, _ := component["componentName"].(string)
		out = append(out, Source{controller.ObjectKey{
			Kind: core.GroupVersion.WithKind("Component"), Namespace: owner.GetNamespace(), Name: name,
		}, "spec.workload"})
		traits, _ := component["traits"].([]any)
		for j := range traits {
			out = append(out, Source{
				controller.KeyOf(owner), fmt.Sprintf("spec.components[%d].traits[%d].trait", i, j),
			})
		}
	}
	if len(out) != objects {
		return nil
	}
	return out
}

// addPod adds a pod for a workload that runs pods.
func (r *Result) addPod(workload *unstructured.Unstructured) {
	if group := workload.GroupVersionKind().Group; group != "apps" && group != "batch" {
		return
	}
	if replicas, set, _ := unstructured.NestedInt64(workload.Object, "spec", "replicas"); set && replicas == 0 {
		return
	}
	for _, at := range [][]string{{"spec", "template"}, {"spec", "jobTemplate", "spec", "template"}} {
		template, found, _ := unstructured.NestedMap(workload.Object, at...)
		if !found {
			continue
		}
		pod := &unstructured.Unstructured{Object: template}
		pod.SetGroupVersionKind(discovery.PodKind)
		pod.SetNamespace(workload.GetNamespace())
		pod.SetName(workload.GetName())
		r.add(pod)
		return
	}
}
