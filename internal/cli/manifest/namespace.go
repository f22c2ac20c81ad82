package manifest

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/sidecar"
)

// Complete sets the name label of Namespaces, sets the sidecar class and the DNS mode of pods from their Namespace, and
// the label of injection of pods of gateways. It adds missing Namespaces, with the labels that dialects assume, and the
// missing ServiceAccounts of pods. It assumes addresses of Services, and that the pods behind them are ready.
func (s *Set) Complete(dialects []dialect.Dialect) {
	s.inherit()
	s.inject(dialects)
	s.address()
	s.addressMembers()
	if reads(dialects, &discoveryv1.EndpointSlice{}) {
		s.endpoints()
	}
	known := map[string]bool{}
	needed := map[string]bool{}
	for _, o := range s.Objects {
		switch o := o.(type) {
		case *corev1.Namespace:
			known[o.Name] = true
			o.Labels = named(o.Labels, o.Name)
		case *corev1.Pod, *corev1.Service:
		default:
			needed[o.GetNamespace()] = true
		}
	}
	delete(needed, "") // objects without a namespace
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		if known[name] {
			continue
		}
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: assumed, Labels: named(nil, name)}}
		for _, d := range dialect.Implementing[dialect.Manifests](dialects) {
			if labels, assumption := d.AssumeNamespace(s.Objects, name, made.Labels); assumption != "" {
				made.Labels = labels
				s.Assumptions = append(s.Assumptions, assumption)
			}
		}
		s.Objects = append(s.Objects, made)
	}
	if reads(dialects, &corev1.ServiceAccount{}) {
		s.accounts()
	}
}

// assumed is the UID of namespaces that the files do not have.
const assumed = "assumed"

// AssumedNamespace reports whether the files do not have a namespace, so that its labels are not known.
func AssumedNamespace(ns *corev1.Namespace) bool { return ns.UID == assumed }

// reads reports whether a dialect reads a kind.
func reads(dialects []dialect.Dialect, kind client.Object) bool {
	return slices.ContainsFunc(dialect.Kinds(dialects), func(o client.Object) bool {
		return reflect.TypeOf(o) == reflect.TypeOf(kind)
	})
}

// inherited are the annotations of Namespaces that apply to pods without them.
var inherited = []string{sidecar.ClassAnnotation, sidecar.DNSAnnotation}

// inherit copies annotations of Namespaces to pods, as injection does.
func (s *Set) inherit() {
	namespaces := map[string]map[string]string{}
	for _, o := range s.Objects {
		if ns, is := o.(*corev1.Namespace); is {
			namespaces[ns.Name] = ns.Annotations
		}
	}
	for _, o := range s.Objects {
		pod, is := o.(*corev1.Pod)
		if !is {
			continue
		}
		for _, name := range inherited {
			value := namespaces[pod.Namespace][name]
			if pod.Annotations[name] != "" || value == "" {
				continue
			}
			pod.Annotations = with(pod.Annotations, name, value)
		}
	}
}

// named adds the label kubernetes.io/metadata.name.
func named(set map[string]string, name string) map[string]string {
	return with(set, corev1.LabelMetadataName, name)
}

// with returns a copy of labels or annotations with one more: those of the document stay as they are.
func with(set map[string]string, name, value string) map[string]string {
	out := maps.Clone(set)
	if out == nil {
		out = map[string]string{}
	}
	out[name] = value
	return out
}
