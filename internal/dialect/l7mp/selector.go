package l7mp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// selectorIndex is an index key of selectors: a namespace, and a label that pods must have, or none.
type selectorIndex struct{ namespace, label, value string }

// selector selects pods.
type selector struct {
	// namespace is the namespace of the pods; empty for all of them.
	namespace string
	labels    labels.Selector
	// index are the labels of which a pod must have one; none for any labels.
	index []selectorIndex
}

// selects reports whether the selector selects the pods.
func (s *selector) selects(pods podSet) bool {
	return (s.namespace == "" || s.namespace == pods.namespace) && s.labels.Matches(pods.labels)
}

// selector reads a selector. namespace is that of the pods if the selector names none. A part that is not implemented
// selects nothing.
func (p *parser) selector(of *api.Selector, namespace, path string) *selector {
	out := &selector{namespace: namespace}
	if of.MatchNamespace != "" {
		out.namespace = of.MatchNamespace
	}
	from, nothing := labelSelector(of), false
	if of.MatchService != "" {
		nothing = !p.addService(from, of.MatchService, out.namespace, path+".matchService")
	}
	for i, f := range of.MatchFields {
		if _, is := strings.CutPrefix(f.Key, labelFields); !is {
			p.report(fmt.Sprintf("%s.matchFields[%d].key", path, i), model.CodeInvalidField,
				"must be a label, as %sapp, because pods of one workload have one configuration; the selector matches nothing",
				labelFields)
			nothing = true
		}
	}
	for _, l := range ignoredLabels {
		if _, is := of.MatchLabels[l]; is || slices.ContainsFunc(of.MatchExpressions,
			func(e api.LabelRequirement) bool { return e.Key == l }) {
			p.report(path, model.CodeInvalidField,
				"the label %s differs between pods of one workload; the selector matches as if no pod had it", l)
		}
	}
	compiled, err := metav1.LabelSelectorAsSelector(from)
	if err != nil {
		p.report(path, model.CodeInvalidField, "not a label selector; it matches nothing")
		nothing = true
	}
	if nothing {
		compiled = labels.Nothing()
	}
	out.labels, out.index = compiled, indexOf(from, out.namespace)
	return out
}

// labelFields is the path of the labels of a pod.
const labelFields = "metadata.labels."

// labelSelector returns the conditions on labels.
func labelSelector(of *api.Selector) *metav1.LabelSelector {
	out := &metav1.LabelSelector{MatchLabels: maps.Clone(of.MatchLabels)}
	for _, e := range slices.Concat(of.MatchExpressions, of.MatchFields) {
		if e.Operator == "DoesNotexist" {
			e.Operator = string(metav1.LabelSelectorOpDoesNotExist)
		}
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: strings.TrimPrefix(e.Key, labelFields), Operator: metav1.LabelSelectorOperator(e.Operator), Values: e.Values,
		})
	}
	return out
}

// addService adds the selector of a Service. It reports false if there is none.
func (p *parser) addService(to *metav1.LabelSelector, name, namespace, path string) bool {
	id := types.NamespacedName{Namespace: namespace, Name: name}
	if namespace == "" {
		id.Namespace = p.namespace
	}
	service, known := p.service(id)
	switch {
	case !known:
		p.report(path, model.CodeReferenceNotFound, "Service %s does not exist; the selector matches nothing", id)
		return false
	case len(service.Spec.Selector) == 0:
		p.report(path, model.CodeInvalidField, "Service %s selects no pods; the selector matches nothing", id)
		return false
	}
	for key, value := range service.Spec.Selector {
		if other, is := to.MatchLabels[key]; is && other != value {
			return false // no pod has both values
		}
		if to.MatchLabels == nil {
			to.MatchLabels = map[string]string{}
		}
		to.MatchLabels[key] = value
	}
	return true
}

// indexOf returns the keys by which a selector is found: a pod that it selects has one of them.
func indexOf(of *metav1.LabelSelector, namespace string) []selectorIndex {
	if len(of.MatchLabels) > 0 {
		label := slices.MinFunc(slices.Collect(maps.Keys(of.MatchLabels)), strings.Compare)
		return []selectorIndex{{namespace, label, of.MatchLabels[label]}}
	}
	for _, e := range of.MatchExpressions {
		if e.Operator != metav1.LabelSelectorOpIn {
			continue
		}
		var out []selectorIndex
		for _, value := range slices.Compact(slices.Sorted(slices.Values(e.Values))) {
			out = append(out, selectorIndex{namespace, e.Key, value})
		}
		return out
	}
	return []selectorIndex{{namespace: namespace}}
}

// keysOf returns the keys of the selectors that may select pods.
func keysOf(namespace string, of store.Labels) []selectorIndex {
	var out []selectorIndex
	for _, ns := range []string{namespace, ""} {
		out = append(out, selectorIndex{namespace: ns})
		for label, value := range of.All() {
			out = append(out, selectorIndex{ns, label, value})
		}
	}
	return out
}
