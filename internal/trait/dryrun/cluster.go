package dryrun

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	standard "anymesh.dev/anymesh/api/oam/standard/v1alpha1"
	"anymesh.dev/anymesh/internal/trait/builtin"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/snapshot"
)

// Cluster is the cluster of manifests. It implements discovery.Reader.
type Cluster struct{ Objects snapshot.Cluster }

var definitionKind = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")

// Has reports whether the cluster has a kind. All kinds are assumed to exist, but those that only providers write: they
// exist if the manifests have such an object, or if a Route names the provider.
func (c Cluster) Has(kind schema.GroupVersionKind) bool {
	if c.Objects.Has(kind) {
		return true
	}
	writtenByProvider := false
	for _, p := range builtin.Providers() {
		if !slices.Contains(p.Writes(), kind) {
			continue
		}
		writtenByProvider = true
		if c.isNamed(p) {
			return true
		}
	}
	return !writtenByProvider
}

// isNamed reports whether a Route names a provider.
func (c Cluster) isNamed(p provider.Provider) bool {
	return slices.ContainsFunc(c.List(standard.RouteKind, ""), func(o *unstructured.Unstructured) bool {
		name, _, _ := unstructured.NestedString(o.Object, "spec", "provider")
		return slices.Contains(p.Names(), name)
	})
}

// Resource returns the plural name of a kind: that of its definition, or else that which is usual.
func (c Cluster) Resource(kind schema.GroupVersionKind) string {
	for _, d := range c.List(definitionKind, "") {
		group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
		name, _, _ := unstructured.NestedString(d.Object, "spec", "names", "kind")
		if group == kind.Group && name == kind.Kind {
			plural, _, _ := unstructured.NestedString(d.Object, "spec", "names", "plural")
			return plural
		}
	}
	return snapshot.Plural(kind)
}

// List returns the objects of a kind in a namespace, or in all.
func (c Cluster) List(kind schema.GroupVersionKind, namespace string) []*unstructured.Unstructured {
	return c.Objects.List(kind, namespace)
}

// Get returns an object, or nil.
func (c Cluster) Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	return c.Objects.Get(kind, namespace, name)
}

// Owned returns the objects of a kind with an owner.
func (c Cluster) Owned(kind schema.GroupVersionKind, namespace string, owner types.UID) []*unstructured.Unstructured {
	return c.Objects.Owned(kind, namespace, owner)
}

// Selects reports whether a selector matches an object of a kind.
func (c Cluster) Selects(kind schema.GroupVersionKind, namespace string, selector map[string]string) bool {
	return c.Objects.Selects(kind, namespace, selector)
}
