package lint

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

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
				if why := dialect.NotInjected(d, pod, ns); why != "" {
					out = append(out, model.NewFinding(s.at, model.CodeNoProxy,
						fmt.Sprintf("pods of %s get no sidecar: %s", manifest.WorkloadOf(pod), why)))
				}
			}
		}
	}
	return out
}
