// Package status tells users what became of their objects.
//
// In: the objects, and the findings about them. Out: the status of each object, written when it is not what it should be, by one
// writer for the whole control plane, one object after the other, at a bounded rate; an event when a condition becomes False; and the
// conditions of pods whose readiness would wait for a registry that is no more.
package status

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/flow"
	"anymesh.dev/anymesh/model"
)

const (
	// writesPerSecond and burst bound what the API server gets from us, however many findings there are.
	writesPerSecond = 50
	burst           = 100
	// retryAfter is the pause after a write that failed.
	retryAfter = time.Second
)

// StatusMaker gives the status that objects should have.
type StatusMaker interface {
	Statuses(objects []client.Object, findings []model.Finding) func(client.Object, time.Time) client.Object
}

// Writer writes statuses. All fields are required.
type Writer struct {
	Dialects []StatusMaker
	// Gates are the readiness gates of pods that nobody but us opens any more: their conditions are kept True.
	Gates []corev1.PodConditionType
	// Cache reads objects as they are now; Client writes.
	Cache    client.Reader
	Client   client.Client
	Recorder events.EventRecorder
	// State and Findings give the newest state, and the findings that are not part of it.
	State    func() *flow.State
	Findings func() []model.Finding
	Log      *slog.Logger

	wake chan struct{}
}

// New finishes a writer.
func New(w Writer) *Writer {
	w.wake = make(chan struct{}, 1)
	return &w
}

// Wake makes the writer look again; it never blocks.
func (w *Writer) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run writes until the context ends. Only one replica may run it.
func (w *Writer) Run(ctx context.Context) {
	limiter := rate.NewLimiter(writesPerSecond, burst)
	for {
		again := w.pass(ctx, limiter)
		var retry <-chan time.Time
		if again {
			retry = time.After(retryAfter)
		}
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-retry:
		}
	}
}

// pass brings every object's status up to date and tells whether something is left to do.
func (w *Writer) pass(ctx context.Context, limiter *rate.Limiter) (again bool) {
	state := w.State()
	if state == nil {
		return false
	}
	findings := model.SortFindings(slices.Concat(w.Findings(), state.Findings))
	for _, o := range state.Objects {
		if pod, ok := o.(*corev1.Pod); ok {
			if err := w.openGates(ctx, limiter, pod); err != nil && ctx.Err() == nil {
				w.Log.Warn("a readiness gate is not opened; it will be tried again", "namespace", pod.Namespace, "pod", pod.Name, "error", err)
				again = true
			}
		}
	}
	for _, d := range w.Dialects {
		statusOf := d.Statuses(state.Objects, findings)
		for _, o := range state.Objects {
			if err := w.write(ctx, limiter, o, statusOf); err != nil && ctx.Err() == nil {
				w.Log.Warn("status is not written; it will be tried again", "kind", o.GetObjectKind().GroupVersionKind().Kind,
					"namespace", o.GetNamespace(), "name", o.GetName(), "error", err)
				again = true
			}
		}
	}
	return again
}

// write compares an object as it is now with what it should be. The state's own copy may lag behind: its status is not watched.
func (w *Writer) write(ctx context.Context, limiter *rate.Limiter, o client.Object, statusOf func(client.Object, time.Time) client.Object) error {
	switch o.(type) {
	case *corev1.Pod, *corev1.Namespace:
		return nil
	}
	now := o.DeepCopyObject().(client.Object)
	if err := w.Cache.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
		return client.IgnoreNotFound(err)
	}
	if now.GetDeletionTimestamp() != nil {
		return nil // it means nothing any more, and says so itself
	}
	if now.GetUID() != o.GetUID() || now.GetGeneration() != o.GetGeneration() {
		return nil // a newer state is on its way
	}
	want := statusOf(now, time.Now())
	if equality.Semantic.DeepEqual(now, want) {
		return nil
	}
	if err := limiter.Wait(ctx); err != nil {
		return err
	}
	err := w.Client.Status().Patch(ctx, want, client.MergeFromWithOptions(now, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		w.tell(now, want)
	}
	return err
}

// tell records an event for a condition that has changed.
func (w *Writer) tell(before, after client.Object) {
	was := conditions(before)
	for kind, c := range conditions(after) {
		if old := was[kind]; old == c {
			continue
		}
		severity := corev1.EventTypeNormal
		if c.status == string(corev1.ConditionFalse) {
			severity = corev1.EventTypeWarning
		}
		if c.reason != "" && (severity == corev1.EventTypeWarning || was[kind].status == string(corev1.ConditionFalse)) {
			w.Recorder.Eventf(after, nil, severity, c.reason, "Reconcile", "%s", cmp.Or(c.message, kind+" is "+c.status))
		}
	}
}

type conditionText struct{ status, reason, message string }

// conditions reads the conditions of an object of any kind.
func conditions(o client.Object) map[string]conditionText {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(content, "status", "conditions")
	out := map[string]conditionText{}
	for _, item := range list {
		c, _ := item.(map[string]any)
		text := func(field string) string { s, _ := c[field].(string); return s }
		out[text("type")] = conditionText{text("status"), text("reason"), text("message")}
	}
	return out
}
