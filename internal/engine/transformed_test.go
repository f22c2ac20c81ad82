package engine

import (
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// transformed passes events on as an informer with the transforms of the control plane does: the objects of all events
// are transformed, also the last known one of a missed deletion.
type transformed struct {
	to toolscache.ResourceEventHandler
}

func (t transformed) OnAdd(object any, initial bool) { t.to.OnAdd(transform(object), initial) }

func (t transformed) OnUpdate(old, now any) { t.to.OnUpdate(transform(old), transform(now)) }

func (t transformed) OnDelete(object any) {
	if unknown, is := object.(toolscache.DeletedFinalStateUnknown); is {
		unknown.Obj = transform(unknown.Obj)
		t.to.OnDelete(unknown)
		return
	}
	t.to.OnDelete(transform(object))
}

func transform(object any) any {
	for _, f := range []toolscache.TransformFunc{TrimPod, TrimService} {
		object, _ = f(object) // they return no errors
	}
	return object
}

// transformedList returns objects as the informers hold them.
func transformedList(objects []client.Object) []client.Object {
	out := make([]client.Object, 0, len(objects))
	for _, o := range objects {
		out = append(out, transform(o).(client.Object))
	}
	return out
}
