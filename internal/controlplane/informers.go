package controlplane

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newInformer returns an informer. Those of custom resources begin with a list, and not with a stream of initial
// events: client-go scans each JSON event five times, and a list twice. Built-in kinds are protobuf, and begin with a
// stream, which needs less memory than a list of all pods. It has no indexes: nothing lists the cached objects.
func newInformer(source toolscache.ListerWatcher, object runtime.Object, resync time.Duration,
	_ toolscache.Indexers) toolscache.SharedIndexInformer {
	if _, _, err := kubescheme.Scheme.ObjectKinds(object); err != nil {
		source = listFirst{source, toolscache.ToListerWatcherWithContext(source)}
	}
	return sharingInformer{toolscache.NewSharedIndexInformer(source, object, resync, toolscache.Indexers{})}
}

// listFirst is a source whose informers begin with a list.
type listFirst struct {
	toolscache.ListerWatcher
	toolscache.ListerWatcherWithContext
}

// IsWatchListSemanticsUnSupported has the name that client-go asks for.
func (listFirst) IsWatchListSemanticsUnSupported() bool { return true }

// sharingInformer is an informer whose objects share what a write of the status does not change with the version
// before: the engine keeps the version that it evaluated.
type sharingInformer struct{ toolscache.SharedIndexInformer }

// SetTransform implements SharedIndexInformer.
func (i sharingInformer) SetTransform(transform toolscache.TransformFunc) error {
	return i.SharedIndexInformer.SetTransform(func(object any) (any, error) {
		if transform != nil {
			var err error
			if object, err = transform(object); err != nil {
				return nil, err
			}
		}
		if now, is := object.(client.Object); is {
			if stored, has, err := i.GetIndexer().Get(now); err == nil && has {
				shareUnchanged(stored.(client.Object), now)
			}
		}
		return object, nil
	})
}

// shareUnchanged replaces the spec and the metadata of an object by those of its version before if they are equal.
func shareUnchanged(before, now client.Object) {
	if now.GetGeneration() == 0 || now.GetGeneration() != before.GetGeneration() || now.GetUID() != before.GetUID() {
		return // the spec may be another, or the kind does not count generations
	}
	if spec := reflect.ValueOf(now).Elem().FieldByName("Spec"); spec.IsValid() && spec.CanSet() {
		spec.Set(reflect.ValueOf(before).Elem().FieldByName("Spec"))
	}
	now.SetName(before.GetName())
	now.SetUID(before.GetUID())
	if maps.Equal(before.GetLabels(), now.GetLabels()) {
		now.SetLabels(before.GetLabels())
	}
	if maps.Equal(before.GetAnnotations(), now.GetAnnotations()) {
		now.SetAnnotations(before.GetAnnotations())
	}
	if slices.Equal(before.GetFinalizers(), now.GetFinalizers()) {
		now.SetFinalizers(before.GetFinalizers())
	}
}
