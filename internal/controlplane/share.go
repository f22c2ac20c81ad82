package controlplane

import (
	"reflect"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sharingInformer is an informer whose objects share equal values: with the version before, since the engine keeps the
// version that it evaluated, and a new object with the one that came before it, since many objects of a kind have the
// same mesh, settings and conditions.
type sharingInformer struct{ toolscache.SharedIndexInformer }

// SetTransform implements SharedIndexInformer.
func (i sharingInformer) SetTransform(transform toolscache.TransformFunc) error {
	var mu sync.Mutex
	var last client.Object // the last new object
	return i.SharedIndexInformer.SetTransform(func(object any) (any, error) {
		if transform != nil {
			var err error
			if object, err = transform(object); err != nil {
				return nil, err
			}
		}
		now, is := object.(client.Object)
		if !is {
			return object, nil
		}
		if stored, has, err := i.GetIndexer().Get(now); err == nil && has {
			shareWithVersion(stored.(client.Object), now)
			return object, nil
		}
		mu.Lock()
		defer mu.Unlock()
		if last != nil {
			share(last, now)
		}
		last = now
		return object, nil
	})
}

// shareWithVersion replaces values of an object by those of its version before if they are equal.
func shareWithVersion(before, now client.Object) {
	if now.GetUID() != before.GetUID() {
		return
	}
	if now.GetGeneration() != 0 && now.GetGeneration() == before.GetGeneration() { // the kind counts generations
		if spec := reflect.ValueOf(now).Elem().FieldByName("Spec"); spec.IsValid() && spec.CanSet() {
			spec.Set(reflect.ValueOf(before).Elem().FieldByName("Spec")) // it may be large
		}
	}
	share(before, now)
}

// share replaces values of an object by those of another one if they are equal. Neither may be modified afterwards.
func share(from, to client.Object) {
	if a, b := reflect.ValueOf(from), reflect.ValueOf(to); a.Type() == b.Type() && a.Pointer() != b.Pointer() {
		shareValue(a.Elem(), b.Elem())
	}
}

// shareValue replaces what a value refers to, and reports whether the values are equal. Values with an interface other
// than nil are not equal.
func shareValue(from, to reflect.Value) (equal bool) {
	switch to.Kind() {
	case reflect.Struct:
		equal = true
		for i := range to.NumField() {
			equal = shareValue(from.Field(i), to.Field(i)) && equal
		}
		return equal // its fields are replaced
	case reflect.Pointer:
		if from.IsNil() || to.IsNil() || from.Pointer() == to.Pointer() {
			return from.Pointer() == to.Pointer()
		}
		equal = shareValue(from.Elem(), to.Elem())
	case reflect.Slice, reflect.Map:
		// Elements of a list that differs stay: a transform may have shared the list with other objects.
		equal = to.CanInterface() && reflect.DeepEqual(from.Interface(), to.Interface())
	case reflect.String:
		equal = from.String() == to.String()
	case reflect.Interface:
		return from.IsNil() && to.IsNil()
	default:
		return from.Comparable() && from.Equal(to)
	}
	if equal && to.CanSet() {
		to.Set(from)
	}
	return equal
}
