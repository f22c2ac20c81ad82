package lint

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// withoutSidecar returns findings about objects whose selected pods get no sidecar, with the reason, unless findings
// already say so. It says nothing about namespaces that the files do not have, nor about dialects whose pods may have a
// proxy of their own.
func withoutSidecar(dialects []dialect.Dialect, set *manifest.Set, findings []model.Finding) []model.Finding {
	namespaces := map[string]*corev1.Namespace{}
	for _, ns := range dialect.ObjectsOf[*corev1.Namespace](set.Objects) {
		if set.Sources[dialect.RefOf(ns)] != nil {
			namespaces[ns.Name] = ns
		}
	}
	var out []model.Finding
	for _, d := range dialect.Implementing[dialect.Injection](dialects) {
		if _, own := d.(dialect.PodWorkloads); own {
			continue
		}
		for _, s := range podSelectors([]dialect.Dialect{d}, set.Objects) {
			ns, known := namespaces[s.at.Object().Namespace]
			reported := slices.ContainsFunc(findings, func(f model.Finding) bool {
				return f.Object == s.at.Object() && (f.Code == model.CodeNoProxy || f.Code == model.CodeBypass)
			})
			if !known || reported {
				continue
			}
			for _, pod := range s.selected {
				if why := noSidecar(d, pod, ns); why != "" {
					out = append(out, model.NewFinding(s.at, model.CodeNoProxy,
						fmt.Sprintf("pods of %s get no sidecar: %s", manifest.WorkloadOf(pod), why)))
				}
			}
		}
	}
	return out
}

// noSidecar returns why a pod gets no sidecar; empty if it gets one.
func noSidecar(d dialect.Injection, pod *corev1.Pod, ns *corev1.Namespace) string {
	selector := &metav1.LabelSelector{MatchExpressions: d.InjectionSelector()}
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || !compiled.Matches(labels.Set(ns.Labels)) {
		for _, r := range selector.MatchExpressions {
			if value, is := ns.Annotations[r.Key]; is {
				return fmt.Sprintf("%s: %s is an annotation of namespace %s, and has to be a label", r.Key, value, ns.Name)
			}
		}
		return fmt.Sprintf("injection is not enabled in namespace %s; %s", ns.Name, d.InjectionHint())
	}
	return dialect.NoSidecar(d, pod, ns)
}
