package store

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// Objects holds the objects of the API server, one relation per kind. Setting the same pointer again is not a change.
// Of pods, it holds what a Pod has, and an equal one is not a change.
type Objects struct {
	// RefOf returns the reference of an object, for findings. The default has the name of the Go type as kind.
	RefOf func(client.Object) model.ObjectRef

	g     *incremental.Graph
	kinds map[reflect.Type]kindRelation
}

// kindRelation is the relation of one kind, with functions that hide its type parameter.
type kindRelation struct {
	relation any
	set      func(types.NamespacedName, client.Object)
	drop     func(types.NamespacedName)
	get      func(types.NamespacedName) (client.Object, bool)
	each     func(func(types.NamespacedName, client.Object))
}

// CreatedAt returns the creation time of an object for model.Origin.
func CreatedAt(o metav1.Object) int64 {
	if created := o.GetCreationTimestamp(); !created.IsZero() {
		return created.Unix()
	}
	return 0
}

// NewObjects creates an empty set of objects.
func NewObjects(g *incremental.Graph) *Objects {
	return &Objects{g: g, kinds: map[reflect.Type]kindRelation{}, RefOf: func(o client.Object) model.ObjectRef {
		return model.ObjectRef{Kind: reflect.TypeOf(o).Elem().Name(), Namespace: o.GetNamespace(), Name: o.GetName()}
	}}
}

// Of returns the relation of the objects of a kind, by namespace and name. Objects of kinds without a relation are
// dropped. The relation of pods is that of *Pod; Of panics for *corev1.Pod, whose relation would stay empty.
func Of[T client.Object](o *Objects) *incremental.Relation[types.NamespacedName, T] {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[*corev1.Pod]() {
		panic("store: pods are held as *store.Pod; use store.Of[*store.Pod]")
	}
	if known, ok := o.kinds[t]; ok {
		return known.relation.(*incremental.Relation[types.NamespacedName, T])
	}
	r := incremental.NewRelation[types.NamespacedName](o.g, t.String(), func(T, T) int { return 0 },
		sameObject[T])
	o.kinds[t] = kindRelation{
		relation: r,
		set:      func(name types.NamespacedName, object client.Object) { r.Set(name, object.(T)) },
		drop:     r.Delete,
		get: func(name types.NamespacedName) (client.Object, bool) {
			object, ok := r.GetFirst(name)
			return object, ok
		},
		each: func(f func(types.NamespacedName, client.Object)) {
			r.ForEach(func(name types.NamespacedName, v []T) { f(name, v[0]) })
		},
	}
	return r
}

// sameObject reports whether two objects are the same, or equal if their type can compare them.
func sameObject[T client.Object](a, b T) bool {
	if compared, can := any(a).(interface{ Equal(T) bool }); can {
		return compared.Equal(b)
	}
	return any(a) == any(b)
}

// Compact returns the form in which objects of a kind are held.
func Compact(object client.Object) client.Object {
	if pod, is := object.(*corev1.Pod); is {
		return NewPod(pod)
	}
	return object
}

// Set adds or replaces an object. The caller must not modify it.
func (o *Objects) Set(object client.Object) {
	object = Compact(object)
	if k, ok := o.kinds[reflect.TypeOf(object)]; ok {
		k.set(client.ObjectKeyFromObject(object), object)
	}
}

// Delete removes the object with the kind, namespace and name of the given one.
func (o *Objects) Delete(object client.Object) {
	object = Compact(object)
	if k, ok := o.kinds[reflect.TypeOf(object)]; ok {
		k.drop(client.ObjectKeyFromObject(object))
	}
}

// All lists the objects, ordered by kind, namespace and name.
func (o *Objects) All() []client.Object {
	var out []client.Object
	for _, t := range slices.SortedFunc(maps.Keys(o.kinds), func(a, b reflect.Type) int {
		return strings.Compare(a.String(), b.String())
	}) {
		out = append(out, o.kinds[t].list(func(types.NamespacedName) bool { return true })...)
	}
	return out
}

// Known returns those of a list of objects that are of kinds with a relation, each once, ordered by kind, namespace and
// name. Of objects with the same kind, namespace and name, it is the last.
func (o *Objects) Known(all []client.Object) []client.Object {
	type id struct {
		kind string
		name types.NamespacedName
	}
	last := map[id]client.Object{}
	for _, object := range all {
		if _, known := o.kinds[reflect.TypeOf(Compact(object))]; known {
			last[id{reflect.TypeOf(object).String(), client.ObjectKeyFromObject(object)}] = object
		}
	}
	return slices.SortedFunc(maps.Values(last), func(a, b client.Object) int {
		return cmp.Or(strings.Compare(reflect.TypeOf(a).String(), reflect.TypeOf(b).String()), compareNames(a, b))
	})
}

// List lists the objects of a kind whose name pick selects, ordered by namespace and name.
func (o *Objects) List(kind client.Object, pick func(types.NamespacedName) bool) []client.Object {
	k, ok := o.kinds[reflect.TypeOf(Compact(kind))]
	if !ok {
		return nil
	}
	return k.list(pick)
}

// Get returns the object of a kind with a name.
func (o *Objects) Get(kind client.Object, name types.NamespacedName) (client.Object, bool) {
	k, ok := o.kinds[reflect.TypeOf(Compact(kind))]
	if !ok {
		return nil, false
	}
	return k.get(name)
}

func (k kindRelation) list(pick func(types.NamespacedName) bool) []client.Object {
	var out []client.Object
	k.each(func(name types.NamespacedName, object client.Object) {
		if pick(name) {
			out = append(out, object)
		}
	})
	slices.SortFunc(out, compareNames)
	return out
}

func compareNames(a, b client.Object) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}
