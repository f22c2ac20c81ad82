package status

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

const kindPod = "Pod"

// isPod reports whether a reference is to a core/v1 Pod.
func isPod(ref model.ObjectRef) bool { return ref.Group == "" && ref.Kind == kindPod }

// kindInfo is a kind whose status this package writes.
type kindInfo struct {
	empty   client.Object
	version schema.GroupVersionKind
	dialect dialect.Statuses
}

func (w *Writer) registerKinds() error {
	for _, d := range w.Dialects {
		for _, empty := range d.StatusKinds() {
			gvk, err := apiutil.GVKForObject(empty, w.Client.Scheme())
			if err != nil {
				return fmt.Errorf("kind of %T: %w", empty, err)
			}
			if other, taken := w.kinds[gvk.GroupKind()]; taken {
				return fmt.Errorf("two dialects have a kind %s: %T and %T", gvk.GroupKind(), other.empty, empty)
			}
			w.kinds[gvk.GroupKind()] = kindInfo{empty, gvk, d}
		}
	}
	return nil
}

// Changed is an engine.Sink. It enqueues objects that changed, and after a delay those whose findings changed.
func (w *Writer) Changed(c engine.Change) {
	for _, o := range c.Deleted {
		if ref, ok := w.ref(o); ok {
			w.states.remove(ref)
			w.pending.removeAll(ref)
		}
	}
	changed := map[model.ObjectRef]struct{}{}
	for _, o := range c.Objects {
		if ref, ok := w.ref(o); ok {
			w.states.objectChanged(ref, o.GetGeneration())
			changed[ref] = struct{}{}
		}
	}
	now := time.Now()
	var findingsChanged []model.ObjectRef
	for _, ref := range c.FindingsChanged {
		if _, own := changed[ref]; own {
			continue
		}
		if o := w.object(ref); o != nil {
			w.states.findingsChanged(ref, o.GetGeneration(), now)
			findingsChanged = append(findingsChanged, ref)
		}
	}
	w.queue.Add(slices.Collect(maps.Keys(changed))...)
	w.queue.AddAfter(findingsDelay, findingsChanged...)
}

// ref returns the reference of an object, and whether this package writes its status or readiness gates.
func (w *Writer) ref(o client.Object) (ref model.ObjectRef, ok bool) {
	switch o := o.(type) {
	case *engine.Pod:
		ref.Kind, ok = kindPod, w.hasManagedGate(o)
	case *corev1.Namespace:
	default:
		if gvk, err := apiutil.GVKForObject(o, w.Client.Scheme()); err == nil {
			ref.Group, ref.Kind = gvk.Group, gvk.Kind
			_, ok = w.kinds[gvk.GroupKind()]
		}
	}
	ref.Namespace, ref.Name = o.GetNamespace(), o.GetName()
	return ref, ok
}

// object returns the object of a reference from the mesh, or nil if it does not exist or is not one that ref accepts.
func (w *Writer) object(ref model.ObjectRef) client.Object {
	kind := w.kinds[schema.GroupKind{Group: ref.Group, Kind: ref.Kind}].empty
	if isPod(ref) {
		kind = &engine.Pod{}
	}
	if kind == nil {
		return nil
	}
	o, there := w.Mesh.Object(kind, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	if !there {
		return nil
	}
	if pod, is := o.(*engine.Pod); is && !w.hasManagedGate(pod) {
		return nil
	}
	return o
}

// all lists the references of all objects that ref accepts.
func (w *Writer) all() []model.ObjectRef {
	var out []model.ObjectRef
	add := func(kind client.Object) {
		for _, o := range w.Mesh.ObjectsOf(kind) {
			if ref, ok := w.ref(o); ok {
				out = append(out, ref)
			}
		}
	}
	for _, kind := range w.kinds {
		add(kind.empty)
	}
	if len(w.Gates) > 0 {
		add(&engine.Pod{})
	}
	return out
}
