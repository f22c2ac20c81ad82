package status

import (
	"context"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// results are the possible results of a write.
var results = []string{"written", "conflict", "gone", "failed"}

// reconcileStatus compares the status of an object with the desired one, and writes it if they differ. If the cached
// object is newer than the findings, it is skipped, because its change is pending. If it is older than the last write,
// the write fails with a conflict and is retried.
func (w *Writer) reconcileStatus(ctx context.Context, ref model.ObjectRef, e trackedObject) error {
	kind := w.kinds[schema.GroupKind{Group: ref.Group, Kind: ref.Kind}]
	now := kind.empty.DeepCopyObject().(client.Object)
	if err := w.Cache.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, now); err != nil {
		return client.IgnoreNotFound(err)
	}
	if now.GetDeletionTimestamp() != nil {
		return nil // objects that are being deleted get no status
	}
	if now.GetUID() != e.uid || now.GetGeneration() != e.generation {
		return nil // a change is pending
	}
	want := kind.dialect.Status(now, w.Mesh.MeshOf(ref), w.findings(ref), time.Now())
	if equality.Semantic.DeepEqual(statusOf(now), statusOf(want)) {
		return nil
	}
	err := w.write(ctx, ref, func() error {
		return w.Client.Status().Patch(ctx, want,
			client.MergeFromWithOptions(now, client.MergeFromWithOptimisticLock{}))
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		w.recordEvents(now, want)
	}
	return err
}

// statusOf returns the field Status of an object (Kubernetes API conventions); nil without one.
func statusOf(object client.Object) any {
	if field := reflect.ValueOf(object).Elem().FieldByName("Status"); field.IsValid() {
		return field.Interface()
	}
	return nil
}

// write waits for the rate limiter, writes, and counts the result.
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
