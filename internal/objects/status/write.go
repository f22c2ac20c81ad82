package status

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// results are the possible results of a write.
var results = []string{"written", "conflict", "gone", "failed"}

// reconcileStatus compares the status of an object with the desired one, and writes it if they differ. If the cached
// object is newer than the findings, it is skipped, because its change is pending. If it is older than the last write,
// the write fails with a conflict and is retried.
func (w *Writer) reconcileStatus(ctx context.Context, ref model.ObjectRef, known client.Object) error {
	kind := w.kinds[schema.GroupKind{Group: ref.Group, Kind: ref.Kind}]
	now := kind.empty.DeepCopyObject().(client.Object)
	if err := w.Cache.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, now); err != nil {
		return client.IgnoreNotFound(err)
	}
	findings := w.findings(ref)
	if now.GetDeletionTimestamp() != nil && !slices.ContainsFunc(findings, isPending) {
		return nil // objects that are being deleted get no status, unless they have to tell what they wait for
	}
	if now.GetUID() != known.GetUID() || now.GetGeneration() != known.GetGeneration() {
		return nil // a change is pending
	}
	want := kind.dialect.Status(now, dialect.StatusInput{
		Mesh: w.Mesh.MeshOf(ref), State: w.Mesh.StateOf(kind.dialect.Name(), ref), Findings: findings, Now: time.Now(),
	})
	if equality.Semantic.DeepEqual(statusOf(now), statusOf(want)) {
		w.recordFindings(ref, now, findings)
		w.recordWarnings(ref, now)
		return nil
	}
	patch, err := statusPatch(now, want)
	if err != nil {
		return err
	}
	// The response has the metadata only: a VirtualNode with a thousand backends has 80 kB.
	response := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
	response.SetGroupVersionKind(kind.version)
	err = w.write(ctx, ref, func() error { return w.Client.Status().Patch(ctx, response, patch) })
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		w.recordFindings(ref, want, findings)
		w.recordEvents(ref, now, want)
	}
	return err
}

func isPending(f model.Finding) bool { return f.Code == model.CodePendingMembers }

// statusPatch returns a merge patch of the status, which fails with a conflict if the object changed.
func statusPatch(now, want client.Object) (client.Patch, error) {
	now, want = withoutSpec(now), withoutSpec(want)
	data, err := client.MergeFromWithOptions(now, client.MergeFromWithOptimisticLock{}).Data(want)
	if err != nil {
		return nil, fmt.Errorf("patch of the status of %s/%s: %w", now.GetNamespace(), now.GetName(), err)
	}
	return client.RawPatch(types.MergePatchType, data), nil
}

// withoutSpec returns an object without its spec. Everything else is shared.
func withoutSpec(object client.Object) client.Object {
	original := reflect.ValueOf(object).Elem()
	out := reflect.New(original.Type())
	out.Elem().Set(original)
	if spec := out.Elem().FieldByName("Spec"); spec.IsValid() {
		spec.SetZero()
	}
	return out.Interface().(client.Object)
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
	w.states.markWritten(ref, time.Now())
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
