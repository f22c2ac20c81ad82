package status

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// results are what becomes of a write.
var results = []string{"written", "conflict", "gone", "failed"}

// reconcileStatus compares an object as it is now with what it should be, and writes it if it is not. What is read may be newer than what the
// findings are about, or older than our own last write: then it is not, or cannot be, written, and looked at again.
func (w *Writer) reconcileStatus(ctx context.Context, ref model.ObjectRef, e trackedObject) error {
	kind := w.kinds[schema.GroupKind{Group: ref.Group, Kind: ref.Kind}]
	now := kind.empty.DeepCopyObject().(client.Object)
	if err := w.Cache.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, now); err != nil {
		return client.IgnoreNotFound(err)
	}
	if now.GetDeletionTimestamp() != nil {
		return nil // it means nothing any more, and says so itself
	}
	if now.GetUID() != e.uid || now.GetGeneration() != e.generation {
		return nil // a change is on its way
	}
	want := kind.dialect.Status(now, w.Mesh.MeshOf(ref), w.findings(ref), time.Now())
	if equality.Semantic.DeepEqual(now, want) {
		return nil
	}
	err := w.write(ctx, ref, func() error {
		return w.Client.Status().Patch(ctx, want, client.MergeFromWithOptions(now, client.MergeFromWithOptimisticLock{}))
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		w.recordEvents(now, want)
	}
	return err
}

// write writes when it may, and counts.
func (w *Writer) write(ctx context.Context, ref model.ObjectRef, patch func() error) error {
	if err := w.limiter.Wait(ctx); err != nil {
		return err
	}
	w.markWritten(ref)
	err := patch()
	result := "failed"
	switch {
	case err == nil:
		result = "written"
	case apierrors.IsConflict(err):
		result = "conflict"
	case apierrors.IsNotFound(err):
		result = "gone"
	}
	w.writes.WithLabelValues(result).Inc()
	return err
}
