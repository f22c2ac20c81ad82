// Package snapshot holds objects in memory, as a snapshot of a cluster.
//
// In: objects. Out: what planners of Routes read.
package snapshot

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Cluster is a snapshot. It has the kinds of Kubernetes that workloads use, and those of its objects. It implements
// discovery.Reader.
type Cluster []*unstructured.Unstructured

// Has reports whether the cluster has a kind.
func (c Cluster) Has(kind schema.GroupVersionKind) bool {
	return slices.Contains([]string{"", "apps", "batch", "networking.k8s.io"}, kind.Group) ||
		slices.ContainsFunc(c, func(o *unstructured.Unstructured) bool { return o.GroupVersionKind() == kind })
}

// Resource returns the plural name of a kind.
func (c Cluster) Resource(kind schema.GroupVersionKind) string {
	if !c.Has(kind) {
		return ""
	}
	return Plural(kind)
}

// Plural returns the usual plural name of a kind.
func Plural(kind schema.GroupVersionKind) string {
	plural := strings.ToLower(kind.Kind)
	if strings.HasSuffix(plural, "s") {
		return plural + "es"
	}
	return plural + "s"
}

// List returns the objects of a kind in a namespace, or in all.
func (c Cluster) List(kind schema.GroupVersionKind, namespace string) []*unstructured.Unstructured {
	return c.filter(kind, namespace, func(*unstructured.Unstructured) bool { return true })
}

// Get returns an object, or nil.
func (c Cluster) Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	found := c.filter(kind, "", func(o *unstructured.Unstructured) bool {
		return o.GetNamespace() == namespace && o.GetName() == name
	})
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

// Owned returns the objects of a kind with an owner.
func (c Cluster) Owned(kind schema.GroupVersionKind, namespace string, owner types.UID) []*unstructured.Unstructured {
	return c.filter(kind, namespace, func(o *unstructured.Unstructured) bool {
		for _, ref := range o.GetOwnerReferences() {
			if ref.UID == owner {
				return true
			}
		}
		return false
	})
}

// Selects reports whether a selector matches an object of a kind.
func (c Cluster) Selects(kind schema.GroupVersionKind, namespace string, selector map[string]string) bool {
	return len(c.filter(kind, namespace, func(o *unstructured.Unstructured) bool {
		return labels.SelectorFromSet(selector).Matches(labels.Set(o.GetLabels()))
	})) > 0
}

func (c Cluster) filter(kind schema.GroupVersionKind, namespace string,
	keep func(*unstructured.Unstructured) bool) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range c {
		if o.GroupVersionKind() == kind && (namespace == "" || o.GetNamespace() == namespace) && keep(o) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return out
}
