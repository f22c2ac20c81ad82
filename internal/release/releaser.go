package release

import (
	"context"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// ReasonPending is the reason of the event about a Mesh or a VirtualGateway that waits, as App Mesh had it.
	ReasonPending = "PendingMembersDeletion"
	// remindAfter is how often an object that waits says so.
	remindAfter = time.Minute
	// retryAfter is the pause after a write that failed.
	retryAfter = time.Second
)

// Releaser removes finalizers. All exported fields are required.
type Releaser struct {
	// Objects gives the newest objects, nil before the first are there.
	Objects func() []client.Object
	// Client reads and writes at the API server.
	Client   client.Client
	Recorder events.EventRecorder
	Log      *slog.Logger

	wake chan struct{}
	told map[types.UID]reminder
}

// reminder is what was said about an object that waits.
type reminder struct {
	text string
	at   time.Time
}

// New finishes a releaser.
func New(r Releaser) *Releaser {
	r.wake, r.told = make(chan struct{}, 1), map[types.UID]reminder{}
	return &r
}

// Wake makes the releaser look again; it never blocks.
func (r *Releaser) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run releases objects until the context ends. Only one replica may run it.
func (r *Releaser) Run(ctx context.Context) {
	for {
		again := r.pass(ctx)
		var later <-chan time.Time
		if again > 0 {
			later = time.After(again)
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-later:
		}
	}
}

// pass looks at all objects that are being deleted. It says after how long to look again; 0 is not before something happens.
func (r *Releaser) pass(ctx context.Context) (again time.Duration) {
	waiting := map[types.UID]reminder{}
	all := r.Objects()
	for _, o := range all {
		keep, waits := Decide(o, all)
		switch {
		case waits != "":
			if again == 0 {
				again = remindAfter
			}
			waiting[o.GetUID()] = r.remind(o, waits)
		case len(keep) < len(o.GetFinalizers()):
			if err := r.release(ctx, o, all); err != nil && ctx.Err() == nil {
				r.Log.Warn("an object that is being deleted keeps its finalizers; it will be tried again", "kind", o.GetObjectKind().GroupVersionKind().Kind,
					"namespace", o.GetNamespace(), "name", o.GetName(), "error", err)
				again = retryAfter
			}
		}
	}
	r.told = waiting
	return again
}

// remind records an event, unless the same was said a moment ago.
func (r *Releaser) remind(o client.Object, text string) reminder {
	if last := r.told[o.GetUID()]; last.text == text && time.Since(last.at) < remindAfter {
		return last
	}
	r.Recorder.Eventf(o, nil, corev1.EventTypeWarning, ReasonPending, "Delete", "%s", text)
	return reminder{text, time.Now()}
}

// release removes finalizers from an object as it is now: what is watched may lag behind, and must not undo what others do meanwhile.
func (r *Releaser) release(ctx context.Context, o client.Object, all []client.Object) error {
	now := o.DeepCopyObject().(client.Object)
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
		return client.IgnoreNotFound(err)
	}
	keep, _ := Decide(now, all)
	if now.GetUID() != o.GetUID() || slices.Equal(keep, now.GetFinalizers()) {
		return nil
	}
	want := now.DeepCopyObject().(client.Object)
	want.SetFinalizers(keep)
	patch := client.MergeFromWithOptions(now, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Client.Patch(ctx, want, patch))
}
