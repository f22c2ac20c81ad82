// Package providertest has a cluster in memory, for tests of providers.
//
// In: manifests. Out: a provider.Reader of their objects.
package providertest

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/trait/provider"
)

// Cluster is a provider.Reader of objects.
type Cluster struct {
	// Kinds are those that the cluster has, beside those of its objects and of Kubernetes.
	Kinds   []schema.GroupVersionKind
	Objects []*unstructured.Unstructured
}

var _ provider.Reader = &Cluster{}

// Parse adds the objects of manifests.
func (c *Cluster) Parse(manifests []byte) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := yaml.YAMLToJSON(document)
		if err != nil {
			return err
		}
		if string(text) == "null" {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			return fmt.Errorf("%w in %s", err, document)
		}
		c.Set(object)
	}
}

// Set adds an object, or replaces that with its kind and name.
func (c *Cluster) Set(object *unstructured.Unstructured) {
	c.Objects = slices.DeleteFunc(c.Objects, func(o *unstructured.Unstructured) bool {
		return o.GroupVersionKind() == object.GroupVersionKind() && o.GetNamespace() == object.GetNamespace() &&
			o.GetName() == object.GetName()
	})
	c.Objects = append(c.Objects, object)
}

// List implements provider.Reader.
func (c *Cluster) List(kind schema.GroupVersionKind, namespace string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range c.Objects {
		if o.GroupVersionKind() == kind && (namespace == "" || o.GetNamespace() == namespace) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return out
}

// Get implements provider.Reader.
func (c *Cluster) Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	for _, o := range c.Objects {
		if o.GroupVersionKind() == kind && o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	return nil
}

// Has implements provider.Reader.
func (c *Cluster) Has(kind schema.GroupVersionKind) bool {
	return kind.Group == "" || kind.Group == provider.IngressKind.Group || slices.Contains(c.Kinds, kind) ||
		slices.ContainsFunc(c.Objects, func(o *unstructured.Unstructured) bool { return o.GroupVersionKind() == kind })
}
