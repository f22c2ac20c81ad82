package finalizers

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/objects/workqueue"
)

const (
	// ReasonPending is the reason of the event about a Mesh or a VirtualGateway that waits for its members, as in App
	// Mesh.
	ReasonPending = "PendingMembersDeletion"
	// reminderInterval is the interval of events about an object that waits.
	reminderInterval = time.Minute
	// workers is the number of concurrent reconciliations; writeTimeout bounds each.
	workers      = 2
	writeTimeout = 10 * time.Second
)

// Options configure a Remover. All fields except Registerer are required.
type Options struct {
	// Dialects are the dialects whose objects are reconciled.
	Dialects []Dialect
	// Client reads from the API server, not from a cache, and writes.
	Client     client.Client
	Recorder   events.EventRecorder
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Remover removes finalizers. Use New.
type Remover struct {
	Options
	queue *workqueue.Queue[key]

	mu       sync.Mutex
	index    *index
	reminded map[key]time.Time // time of the last event about a waiting object
}

// New creates a Remover.
func New(o Options) *Remover {
	return &Remover{
		Options: o, queue: workqueue.New[key]("finalizers", o.Registerer), index: newIndex(o.Dialects),
		reminded: map[key]time.Time{},
	}
}

// Changed is an engine.Sink. It updates the index, and enqueues objects that are being deleted and owners that lost
// their last member.
func (r *Remover) Changed(c engine.Change) {
	var reconcile []key
	r.mu.Lock()
	for _, o := range c.Objects {
		reconcile = append(reconcile, r.index.set(o)...)
		if o.GetDeletionTimestamp() != nil {
			reconcile = append(reconcile, keyOf(o))
		}
	}
	for _, o := range c.Deleted {
		delete(r.reminded, keyOf(o))
		reconcile = append(reconcile, r.index.remove(o)...)
	}
	r.mu.Unlock()
	r.queue.Add(reconcile...)
}

// Run removes finalizers until the context ends, starting with all objects that are being deleted. Only the leader may
// run it. Calls must not overlap.
func (r *Remover) Run(ctx context.Context) {
	r.queue.Run(ctx,
		workqueue.Reconciler[key]{Workers: workers, ListKeys: r.deleting, Reconcile: r.reconcile, OnFailure: r.failed})
}

func (r *Remover) failed(k key, err error) {
	level := slog.LevelWarn
	if apierrors.IsConflict(err) {
		level = slog.LevelDebug
	}
	r.Log.Log(context.Background(), level, "finalizers are not removed; retrying",
		"kind", k.kind.Elem().Name(), "namespace", k.Namespace, "name", k.Name, "error", err)
}

func (r *Remover) deleting() []key {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.index.deleting()
}

func (r *Remover) lookup(k key) (o client.Object, members []client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.index.lookup(k)
}

// reconcile removes the finalizers of an object, or records an event that it waits.
func (r *Remover) reconcile(ctx context.Context, k key) (again time.Duration, err error) {
	o, members := r.lookup(k)
	if o == nil {
		return 0, nil
	}
	keep, waits := r.decide(o, members)
	switch {
	case waits != "":
		return r.remind(k, o, waits), nil
	case len(keep) < len(o.GetFinalizers()):
		return 0, r.removeFinalizers(ctx, o, members)
	}
	return 0, nil
}

func (r *Remover) decide(o client.Object, members []client.Object) (keep []string, waits string) {
	return decide(r.index.dialects[reflect.TypeOf(o)], o, members)
}

// remind records an event unless the last one is recent, and returns the time until the next one.
func (r *Remover) remind(k key, o client.Object, text string) time.Duration {
	r.mu.Lock()
	wait := time.Until(r.reminded[k].Add(reminderInterval))
	if wait <= 0 {
		r.reminded[k] = time.Now()
	}
	r.mu.Unlock()
	if wait > 0 {
		return wait
	}
	r.Recorder.Eventf(o, nil, corev1.EventTypeWarning, ReasonPending, "Delete", "%s", text)
	return reminderInterval
}

// removeFinalizers reads the object from the API server and patches its finalizers. The watched object may be outdated,
// and the patch must not revert concurrent changes.
func (r *Remover) removeFinalizers(ctx context.Context, o client.Object, members []client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	now := o.DeepCopyObject().(client.Object)
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
		return client.IgnoreNotFound(err)
	}
	keep, _ := r.decide(now, members)
	if now.GetUID() != o.GetUID() || slices.Equal(keep, now.GetFinalizers()) {
		return nil
	}
	want := now.DeepCopyObject().(client.Object)
	want.SetFinalizers(keep)
	patch := client.MergeFromWithOptions(now, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Client.Patch(ctx, want, patch))
}
