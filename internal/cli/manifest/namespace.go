package manifest

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// Complete does what an API server does to Namespaces, and adds those that are not among the files: if there is exactly one Mesh they
// are taken to be selected by it, and the assumption is noted.
func (s *Set) Complete() {
	known := map[string]bool{}
	needed := map[string]bool{}
	var meshes []*api.Mesh
	for _, o := range s.Objects {
		switch o := o.(type) {
		case *corev1.Namespace:
			known[o.Name] = true
			o.Labels = named(o.Labels, o.Name)
		case *api.Mesh:
			meshes = append(meshes, o)
		case *corev1.Pod:
		default:
			needed[o.GetNamespace()] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		if known[name] {
			continue
		}
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: named(nil, name)}}
		if len(meshes) == 1 {
			if satisfied, ok := satisfy(meshes[0].Spec.NamespaceSelector, made.Labels); ok {
				made.Labels = satisfied
				s.Assumptions = append(s.Assumptions, fmt.Sprintf("Namespace %s is not among the files; it is taken to be selected by Mesh %s", name, meshes[0].Name))
			}
		}
		s.Objects = append(s.Objects, made)
	}
}

// named adds the label that every Namespace has.
func named(set map[string]string, name string) map[string]string {
	out := maps.Clone(set)
	if out == nil {
		out = map[string]string{}
	}
	out[corev1.LabelMetadataName] = name
	return out
}

// satisfy adds labels until a selector matches, and reports false if it cannot: an absent selector matches nothing.
func satisfy(selector *metav1.LabelSelector, set map[string]string) (map[string]string, bool) {
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, false
	}
	out := maps.Clone(set)
	if selector != nil {
		for key, value := range selector.MatchLabels {
			out[key] = value
		}
		for _, e := range selector.MatchExpressions {
			_, present := out[e.Key]
			switch {
			case e.Operator == metav1.LabelSelectorOpIn && len(e.Values) > 0 && !slices.Contains(e.Values, out[e.Key]):
				out[e.Key] = e.Values[0]
			case e.Operator == metav1.LabelSelectorOpExists && !present:
				out[e.Key] = ""
			}
		}
		if out[corev1.LabelMetadataName] != set[corev1.LabelMetadataName] {
			return nil, false // a name cannot be assumed to be another
		}
	}
	return out, compiled.Matches(labels.Set(out))
}
