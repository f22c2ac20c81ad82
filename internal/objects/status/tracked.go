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
	dialect Dialect
}

// trackedObject is the identity and generation of an object in the mesh.
type trackedObject struct {
	uid        types.UID
	generation int64
	// written is the time of the last write.
	written time.Time
	// changing and changed are the times of the first and the last change of the findings that is not reconciled.
	changing, changed time.Time
	// reported are the errors of the last event about an object without conditions.
	reported string
}

// settle returns how long the findings have to stay as they are before a write.
func (o trackedObject) settle(now time.Time) time.Duration {
	if o.changing.IsZero() {
		return 0
	}
	return min(o.changed.Add(findingsDelay).Sub(now), o.changing.Add(maxFindingsDelay).Sub(now))
}

func (w *Writer) registerKinds() error {
	for _, d := range w.Dialects {
		kinds := dialect.OwnKinds(d)
		if k, is := d.(kindsWithStatus); is {
			kinds = k.StatusKinds()
		}
		for _, empty := range kinds {
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

// kindsWithStatus is a dialect that writes the status of other kinds than its own.
type kindsWithStatus interface {
	// StatusKinds returns an empty object of each kind that Status changes.
	StatusKinds() []client.Object
}

// Changed is an engine.Sink. It updates the tracked objects, and enqueues objects that changed, and after a
// delay those whose findings changed.
func (w *Writer) Changed(c engine.Change) {
	var findingsChanged []model.ObjectRef
	changed := map[model.ObjectRef]struct{}{}
	now := time.Now()
	w.mu.Lock()
	for _, o := range c.Deleted {
		if ref, ok := w.ref(o); ok {
			delete(w.tracked, ref)
			w.pending.removeAll(ref)
		}
	}
	for _, o := range c.Objects {
		ref, ok := w.ref(o)
		if !ok {
			continue
		}
		if pod, is := o.(*engine.Pod); is && !w.hasManagedGate(pod) {
			delete(w.tracked, ref) // an earlier pod may have had the same name
			continue
		}
		e := w.tracked[ref]
		if e.generation != o.GetGeneration() {
			e.changing = time.Time{} // its author waits for the status
		}
		e.uid, e.generation = o.GetUID(), o.GetGeneration()
		w.tracked[ref] = e
		changed[ref] = struct{}{}
	}
	for _, ref := range c.FindingsChanged {
		e, ok := w.tracked[ref]
		if _, own := changed[ref]; own || !ok {
			continue
		}
		if e.changed = now; e.changing.IsZero() {
			e.changing = now
		}
		w.tracked[ref] = e
		findingsChanged = append(findingsChanged, ref)
	}
	w.mu.Unlock()
	w.queue.Add(slices.Collect(maps.Keys(changed))...)
	w.queue.AddAfter(findingsDelay, findingsChanged...)
}

// ref returns the reference of an object, and whether this package writes its status or readiness gates.
func (w *Writer) ref(o client.Object) (ref model.ObjectRef, ok bool) {
	switch o.(type) {
	case *engine.Pod:
		ref.Kind, ok = kindPod, len(w.Gates) > 0
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

// all lists the tracked objects.
func (w *Writer) all() []model.ObjectRef {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]model.ObjectRef, 0, len(w.tracked))
	for ref := range w.tracked {
		out = append(out, ref)
	}
	return out
}

// markSettled marks the changed findings as reconciled.
func (w *Writer) markSettled(ref model.ObjectRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e, ok := w.tracked[ref]; ok {
		e.changing = time.Time{}
		w.tracked[ref] = e
	}
}

func (w *Writer) trackedObject(ref model.ObjectRef) (trackedObject, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, ok := w.tracked[ref]
	return e, ok
}

// markWritten records the time of a write.
func (w *Writer) markWritten(ref model.ObjectRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e, ok := w.tracked[ref]; ok {
		e.written = time.Now()
		w.tracked[ref] = e
	}
}
