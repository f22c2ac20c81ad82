package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"anymesh.dev/anymesh/internal/trait/provider"
)

// awaitsEvent means that an object was written whose event evaluates the owner again.
const awaitsEvent = time.Duration(-1)

// write writes the objects of a plan that differ from the cluster, and then deletes those that it does not have. The
// duration is awaitsEvent, or the time after which to evaluate the owner again though nothing changed; 0 means never.
func (r *run) write(ctx context.Context, owner *unstructured.Unstructured, plan Plan,
	existing []*unstructured.Unstructured, read *reader) (Outcome, time.Duration, error) {
	outcome := Outcome{UIDs: map[ObjectKey]types.UID{}, Forbidden: read.forbiddenReason()}
	if outcome.Forbidden != nil {
		return outcome, forbiddenFor, nil
	}
	wanted := map[ObjectKey]bool{}
	var again time.Duration
	if !plan.Due.IsZero() {
		again = max(plan.Due.Sub(r.Now()), time.Second)
	}
	var failed error
	if plan.Do != nil {
		r.writes.Inc()
		wrote, err := plan.Do(ctx, *metav1.NewControllerRef(owner, owner.GroupVersionKind()))
		if wrote {
			again = awaitsEvent
		}
		if err != nil {
			outcome.Problem, failed = &provider.Reason{Reason: "WriteFailed", Message: err.Error()}, err
		}
	}
	for _, o := range plan.Objects {
		o, err := owned(o, owner)
		if err != nil {
			return outcome, 0, err
		}
		key := KeyOf(o)
		wanted[key] = true
		now, wrote, err := r.apply(ctx, owner, o, read)
		if read.waits {
			return outcome, awaitsEvent, nil
		}
		if now != nil {
			outcome.UIDs[key] = now.GetUID()
		}
		if wrote {
			again = awaitsEvent
		}
		if reason, lasting := r.reasonOf(o, err); reason != nil {
			if outcome.Problem == nil {
				outcome.Problem = reason
			}
			if lasting {
				again = forbiddenRetry
			} else {
				failed = err
			}
		}
	}
	if outcome.Problem != nil {
		return outcome, again, failed // what is no longer wanted may still serve
	}
	for _, o := range existing {
		if wanted[KeyOf(o)] || o.GetDeletionTimestamp() != nil {
			continue
		}
		if err := r.delete(ctx, o); err != nil {
			reason, lasting := r.reasonOf(o, err)
			if outcome.Problem = reason; lasting {
				return outcome, forbiddenRetry, nil
			}
			return outcome, 0, err
		}
	}
	return outcome, again, nil
}

// apply writes an object if it differs from the cluster, and reports whether its event has to come.
func (r *run) apply(ctx context.Context, owner, o *unstructured.Unstructured, read *reader) (*unstructured.Unstructured,
	bool, error) {
	m := read.mapping(o.GroupVersionKind())
	if m == nil {
		return nil, false, missingKindError{o.GetKind(), o.GetAPIVersion()}
	}
	now := read.Get(o.GroupVersionKind(), o.GetNamespace(), o.GetName())
	if read.waits {
		return nil, false, nil
	}
	if now != nil && !controls(owner, now) {
		return now, false, errTaken
	}
	if now != nil && now.GetDeletionTimestamp() != nil {
		return now, true, nil // the event of its end comes
	}
	content, err := json.Marshal(o.Object)
	if err != nil {
		return now, false, err
	}
	if r.expected.has(KeyOf(o), string(content), r.Now()) {
		return now, true, nil
	}
	former := now != nil && hasManager(now, string(owner.GetUID()))
	if now != nil && !former && !differs(o, now, "") {
		return now, false, nil
	}
	r.writes.Inc()
	r.expected.begin(KeyOf(o), string(content), r.Now())
	written, err := r.resource(m, o.GetNamespace()).Apply(ctx, o.GetName(), o,
		metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err == nil && former {
		written, err = r.releaseFormer(ctx, m, owner, written)
	}
	if err != nil {
		r.expected.cancel(KeyOf(o))
		return now, false, err
	}
	if now != nil && now.GetResourceVersion() == written.GetResourceVersion() {
		r.expected.cancel(KeyOf(o))
		return written, false, nil
	}
	r.expected.written(KeyOf(o), written.GetResourceVersion())
	return written, true, nil
}

// releaseFormer removes the fields that only the former controller of Routes set. Its field manager was the UID of the
// Route.
func (r *run) releaseFormer(ctx context.Context, m *mapping, owner, o *unstructured.Unstructured) (
	*unstructured.Unstructured, error) {
	none := &unstructured.Unstructured{}
	none.SetGroupVersionKind(o.GroupVersionKind())
	none.SetNamespace(o.GetNamespace())
	none.SetName(o.GetName())
	none.SetUID(o.GetUID())
	r.writes.Inc()
	return r.resource(m, o.GetNamespace()).Apply(ctx, o.GetName(), none,
		metav1.ApplyOptions{FieldManager: string(owner.GetUID()), Force: true})
}

func (r *run) delete(ctx context.Context, o *unstructured.Unstructured) error {
	m, err := r.kinds.get(o.GroupVersionKind())
	if err != nil || m == nil {
		return err
	}
	uid := o.GetUID()
	r.writes.Inc()
	err = r.resource(m, o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (r *run) resource(m *mapping, namespace string) dynamic.ResourceInterface {
	if m.namespaced {
		return r.client.Resource(m.resource).Namespace(namespace)
	}
	return r.client.Resource(m.resource)
}

// missingKindError says that the cluster does not have the kind of an object.
type missingKindError struct{ kind, apiVersion string }

func (e missingKindError) Error() string {
	return fmt.Sprintf("the cluster has no kind %s in %s; install its CustomResourceDefinition, or choose another provider",
		e.kind, e.apiVersion)
}

// errTaken says that an object belongs to somebody else.
var errTaken = errors.New("it exists and does not belong to this object; delete it, or rename one of them")

// reasonOf returns the reason why an object is not written, and whether it lasts until a user does something.
func (r *run) reasonOf(o *unstructured.Unstructured, err error) (*provider.Reason, bool) {
	if err == nil {
		return nil, false
	}
	reason := &provider.Reason{Reason: "WriteFailed", Message: fmt.Sprintf("%s %s: %v", o.GetKind(), o.GetName(), err)}
	var missing missingKindError
	switch {
	case errors.As(err, &missing):
		reason.Reason = "KindNotFound"
		return reason, true
	case errors.Is(err, errTaken):
		reason.Reason = "ObjectExists"
		return reason, true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return reason, true
	case apierrors.IsForbidden(err):
		reason.Reason = "Forbidden"
		if m, _ := r.kinds.get(o.GroupVersionKind()); m != nil {
			reason.Message += "; " + forbiddenError{m.resource, "create, patch, delete"}.Error()
		}
		return reason, true
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		reason.Reason = "Rejected"
		return reason, true
	}
	return reason, false
}

// controls reports whether an object has an owner as its controller.
func controls(owner, o *unstructured.Unstructured) bool {
	ref := metav1.GetControllerOfNoCopy(o)
	return ref != nil && ref.UID == owner.GetUID()
}

// owned returns a copy of an object as it is applied: with a reference to its owner, and without fields that the API
// server sets.
func owned(o, owner *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	delete(out.Object, "status")
	if metadata, ok := out.Object["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	dropNulls(out.Object)
	out.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
	return out, nil
}

// dropNulls removes fields without a value, which encoders of Go types write.
func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if inner == nil {
				delete(v, name)
				continue
			}
			dropNulls(inner)
		}
	case []any:
		for _, inner := range v {
			dropNulls(inner)
		}
	}
}
