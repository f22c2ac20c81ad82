package lint

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// podFindings returns findings about pods that injection refuses, or warns of, for their own annotations and labels: of
// dialects whose options depend on the pod, and not on its workload.
func podFindings(dialects []dialect.Dialect, set *manifest.Set) []model.Finding {
	namespaces := map[string]*corev1.Namespace{}
	for _, ns := range dialect.ObjectsOf[*corev1.Namespace](set.Objects) {
		namespaces[ns.Name] = ns
	}
	var out []model.Finding
	for _, pod := range dialect.ObjectsOf[*corev1.Pod](set.Objects) {
		ns, known := namespaces[pod.Namespace]
		if !known || pod.Spec.HostNetwork {
			continue
		}
		for _, d := range dialect.Implementing[dialect.SidecarSettings](dialects) {
			if d.InjectionMode(pod, ns) == dialect.InjectionEnabled {
				out = append(out, podFindingsOf(d, pod, set.Objects, set)...)
			}
		}
	}
	return out
}

func podFindingsOf(d dialect.Injection, pod *corev1.Pod, objects []client.Object, set *manifest.Set) []model.Finding {
	at, metadata := sourceOf(pod, set)
	key, found, err := d.SelectWorkload(objects, pod, pod.Namespace)
	var options dialect.PodOptions
	if err == nil && found {
		options, err = d.PodOptions(pod, model.Workload{Key: key})
	}
	if err != nil {
		return []model.Finding{model.NewFinding(at.At(pathIn(err.Error(), metadata, pod)), model.CodeRefused,
			fmt.Sprintf("pods cannot be created: %v", err))}
	}
	var out []model.Finding
	for _, text := range options.Warnings {
		f := model.NewFinding(at.At(pathIn(text, metadata, pod)), model.CodeInvalidField, text)
		f.Severity = model.Warning
		out = append(out, f)
	}
	return out
}

// sourceOf returns the object in the files that a pod is made from, and the path of the pod's metadata.
func sourceOf(pod *corev1.Pod, set *manifest.Set) (model.Origin, string) {
	for ref := range set.Sources {
		if ref.Kind != "Pod" && ref.String() == manifest.WorkloadOf(pod) {
			return model.NewOrigin(ref), "spec.template.metadata"
		}
	}
	return model.NewOrigin(dialect.RefOf(pod)), "metadata"
}

// pathIn returns the path of the annotation or the label that a text names.
func pathIn(text, metadata string, pod *corev1.Pod) string {
	best, path := "", metadata
	for field, names := range map[string]map[string]string{"annotations": pod.Annotations, "labels": pod.Labels} {
		for name := range names {
			if len(name) > len(best) && strings.Contains(text, strings.TrimSuffix(field, "s")+" "+name) {
				best, path = name, metadata+"."+field+"["+name+"]"
			}
		}
	}
	return path
}
