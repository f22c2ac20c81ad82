package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/spelling"
	"anymesh.dev/anymesh/model"
)

// podSelector is the selector of an object, with the pods of the files that it matches.
type podSelector struct {
	at       model.Origin
	selector *metav1.LabelSelector
	// pods are all pods of the namespace, and selected those that match.
	pods, selected []*corev1.Pod
}

// podSelectors returns the selectors of objects in namespaces of which the files have pods or workloads.
func podSelectors(dialects []dialect.Dialect, objects []client.Object) []podSelector {
	byNamespace := map[string][]*corev1.Pod{}
	for _, o := range objects {
		if pod, is := o.(*corev1.Pod); is {
			byNamespace[pod.Namespace] = append(byNamespace[pod.Namespace], pod)
		}
	}
	var out []podSelector
	for _, d := range dialect.Implementing[dialect.Manifests](dialects) {
		for _, o := range objects {
			selector, path := d.PodSelector(o)
			pods := byNamespace[o.GetNamespace()]
			compiled, err := metav1.LabelSelectorAsSelector(selector)
			if selector == nil || err != nil || len(pods) == 0 {
				continue
			}
			s := podSelector{at: model.NewOrigin(dialect.RefOf(o)).At(path), selector: selector, pods: pods}
			for _, pod := range pods {
				if compiled.Matches(labels.Set(pod.Labels)) {
					s.selected = append(s.selected, pod)
				}
			}
			out = append(out, s)
		}
	}
	return out
}

// unmatchedSelectors returns findings about selectors that match none of the pods.
func unmatchedSelectors(selectors []podSelector) []model.Finding {
	var out []model.Finding
	for _, s := range selectors {
		if len(s.selected) == 0 {
			out = append(out, s.unmatched())
		}
	}
	return out
}

// unmatched names the label that nearly matches, if all others match.
func (s podSelector) unmatched() model.Finding {
	for _, pod := range s.pods {
		wrong := unequal(s.selector.MatchLabels, pod.Labels)
		if len(wrong) != 1 {
			continue
		}
		rest := s.selector.DeepCopy()
		delete(rest.MatchLabels, wrong[0])
		compiled, err := metav1.LabelSelectorAsSelector(rest)
		if err != nil || !compiled.Matches(labels.Set(pod.Labels)) {
			continue
		}
		key, value, near := nearLabel(wrong[0], s.selector.MatchLabels[wrong[0]], pod.Labels)
		if !near {
			continue
		}
		at := s.at.At(manifest.PathOf(s.at.Path+".matchLabels", wrong[0]))
		return model.NewFinding(at, model.CodeNoPods, fmt.Sprintf("no pod of namespace %s has the label %s=%s. Did you mean %s=%s, of %s?",
			s.at.Object().Namespace, wrong[0], s.selector.MatchLabels[wrong[0]], key, value, manifest.WorkloadOf(pod)))
	}
	return model.NewFinding(s.at, model.CodeNoPods, fmt.Sprintf("no pod or workload of namespace %s in the files matches %s",
		s.at.Object().Namespace, metav1.FormatLabelSelector(s.selector)))
}

// unequal lists the labels of a selector that other labels do not have.
func unequal(wanted, have map[string]string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if value, is := have[key]; !is || value != wanted[key] {
			out = append(out, key)
		}
	}
	return out
}

// nearLabel returns the label with the same key and a near value, or with a near key and the same value.
func nearLabel(key, value string, have map[string]string) (nearKey, nearValue string, near bool) {
	if other, is := have[key]; is {
		_, near := spelling.Meant(value, []string{other})
		return key, other, near || strings.EqualFold(value, other) || partOf(value, other)
	}
	keys := slices.Sorted(maps.Keys(have))
	if meant, near := spelling.Meant(key, keys); near && have[meant] == value {
		return meant, value, true
	}
	for _, other := range keys { // app, and app.kubernetes.io/name
		if have[other] == value {
			return other, value, true
		}
	}
	return "", "", false
}

// partOf reports whether one name begins with the other, as cart and cart-v1.
func partOf(a, b string) bool {
	_, is := spelling.Completes(a, []string{b})
	return is
}
