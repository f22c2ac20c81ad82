package controller

import (
	"cmp"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/trait/provider"
)

// reader reads objects for one evaluation, and records what it reads. It is not safe for concurrent use.
type reader struct {
	run        *run
	owner      ObjectKey
	evaluation int
	// waits is set if an informer does not have all objects yet: then the plan is void.
	waits bool
	// forbidden is the first kind that must not be read.
	forbidden *forbiddenError
	// err is the first other error.
	err error
}

func (r *reader) record(kind schema.GroupVersionKind, a aspect, namespace, what string, selector labels.Selector) {
	r.run.index.add(r.owner, r.evaluation, read{kind, a, namespace, what}, selector)
}

// mapping returns the resource of a kind, or nil.
func (r *reader) mapping(kind schema.GroupVersionKind) *mapping {
	r.record(kind, kindExists, "", "", nil)
	m, err := r.run.kinds.get(kind)
	r.note(err)
	return m
}

// informer returns the informer of a kind, or nil.
func (r *reader) informer(kind schema.GroupVersionKind) *informer {
	m := r.mapping(kind)
	if m == nil {
		return nil
	}
	r.record(kind, informed, "", "", nil)
	one, err := r.run.informers.get(kind, *m)
	r.note(err)
	return one
}

func (r *reader) note(err error) {
	var forbidden forbiddenError
	switch {
	case err == nil:
	case errors.Is(err, errNotSynced):
		r.waits = true
	case errors.As(err, &forbidden):
		if r.forbidden == nil {
			r.forbidden = &forbidden
		}
	case r.err == nil:
		r.err = err
	}
}

// Has implements provider.Reader.
func (r *reader) Has(kind schema.GroupVersionKind) bool { return r.mapping(kind) != nil }

// Resource implements discovery.Reader.
func (r *reader) Resource(kind schema.GroupVersionKind) string {
	if m := r.mapping(kind); m != nil {
		return m.resource.Resource
	}
	return ""
}

// Get implements provider.Reader.
func (r *reader) Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	r.record(kind, oneObject, namespace, name, nil)
	one := r.informer(kind)
	if one == nil {
		return nil
	}
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	o, _, _ := one.GetStore().GetByKey(key) // a store in memory has no errors
	u, _ := o.(*unstructured.Unstructured)
	return u
}

// List implements provider.Reader.
func (r *reader) List(kind schema.GroupVersionKind, namespace string) []*unstructured.Unstructured {
	r.record(kind, allObjects, namespace, "", nil)
	one := r.informer(kind)
	if one == nil {
		return nil
	}
	if namespace == "" {
		return ordered(one.GetStore().List())
	}
	list, _ := one.GetIndexer().ByIndex(byNamespace, namespace)
	return ordered(list)
}

// Owned implements discovery.Reader.
func (r *reader) Owned(kind schema.GroupVersionKind, namespace string, owner types.UID) []*unstructured.Unstructured {
	r.record(kind, ownedBy, namespace, string(owner), nil)
	one := r.informer(kind)
	if one == nil {
		return nil
	}
	list, _ := one.GetIndexer().ByIndex(byOwner, namespace+"/"+string(owner))
	return ordered(list)
}

// Selects implements discovery.Reader.
func (r *reader) Selects(kind schema.GroupVersionKind, namespace string, selector map[string]string) bool {
	s := labels.SelectorFromSet(selector)
	r.record(kind, selectedBy, namespace, s.String(), s)
	one := r.informer(kind)
	if one == nil {
		return false
	}
	list, _ := one.GetIndexer().ByIndex(byNamespace, namespace)
	return slices.ContainsFunc(list, func(o any) bool {
		u, ok := o.(*unstructured.Unstructured)
		return ok && s.Matches(labels.Set(u.GetLabels()))
	})
}

// forbiddenReason is the reason why a kind cannot be read, or nil.
func (r *reader) forbiddenReason() *provider.Reason {
	if r.forbidden == nil {
		return nil
	}
	return &provider.Reason{Reason: "Forbidden", Message: r.forbidden.Error()}
}

func ordered(list []any) []*unstructured.Unstructured {
	out := make([]*unstructured.Unstructured, 0, len(list))
	for _, o := range list {
		if u, ok := o.(*unstructured.Unstructured); ok {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return out
}
