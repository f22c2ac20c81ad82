package finalizers

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/objects/workqueue"
	"anymesh.dev/anymesh/model"
)

const (
	// ReasonPending is the reason of the event about an object that waits for its members, as in App Mesh.
	ReasonPending = string(model.CodePendingMembers)
	// additionsPerSecond limits the objects per second that get a finalizer, and additionBurst is the burst size. A
	// cluster can have many objects without one when the control plane starts. Removals are not limited.
	additionsPerSecond, additionBurst = 10, 20
	// reminderInterval is the interval of events about an object that waits.
	reminderInterval = time.Minute
	// workers is the number of concurrent reconciliations; writeTimeout bounds each.
	workers      = 2
	writeTimeout = 10 * time.Second
)

// Options configure a Reconciler. All fields except Registerer are required.
type Options struct {
	// Dialects are the dialects whose objects are reconciled.
	Dialects []dialect.Finalizers
	// Client reads from the API server, not from a cache, and writes.
	Client   client.Client
	Recorder events.EventRecorder
	// FindingsChanged is called when the result of Findings may have changed. It must not block.
	FindingsChanged func()
	Log             *slog.Logger
	Registerer      prometheus.Registerer
}

// Reconciler adds and removes finalizers. Use New.
type Reconciler struct {
	Options
	queue     *workqueue.Queue[key]
	additions *rate.Limiter

	mu       sync.Mutex
	index    *index
	reminded map[key]time.Time // time of the last event about a waiting object
	turns    map[key]time.Time // time at which an object gets a finalizer
}

// New creates a Reconciler.
func New(o Options) *Reconciler {
	return &Reconciler{
		Options: o, queue: workqueue.New[key]("finalizers", o.Registerer), index: newIndex(o.Dialects),
		additions: rate.NewLimiter(additionsPerSecond, additionBurst), reminded: map[key]time.Time{},
		turns: map[key]time.Time{},
	}
}

// Changed is an engine.Sink. It updates the index, and enqueues objects that are being deleted or lack a finalizer, and
// owners that may not have to wait any longer.
func (r *Reconciler) Changed(c engine.Change) {
	var reconcile []key
	r.mu.Lock()
	waited := len(r.index.deletedOwners) > 0
	for _, o := range c.Objects {
		reconcile = append(reconcile, r.index.set(o)...)
		if o.GetDeletionTimestamp() != nil || r.index.lacksFinalizer(o) {
			reconcile = append(reconcile, keyOf(o))
		}
	}
	for _, o := range c.Deleted {
		delete(r.reminded, keyOf(o))
		delete(r.turns, keyOf(o))
		reconcile = append(reconcile, r.index.remove(o)...)
	}
	waited = waited || len(r.index.deletedOwners) > 0
	r.mu.Unlock()
	r.queue.Add(reconcile...)
	if waited {
		r.FindingsChanged()
	}
}

// Run adds and removes finalizers until the context ends, starting with all objects. Only the leader may run it. Calls
// must not overlap.
func (r *Reconciler) Run(ctx context.Context) {
	r.queue.Run(ctx,
		workqueue.Reconciler[key]{Workers: workers, ListKeys: r.unfinished, Reconcile: r.reconcile, OnFailure: r.failed})
}

// Findings returns a finding about each object whose deletion waits for its members.
func (r *Reconciler) Findings() []model.Finding {
	type waiting struct {
		owner   client.Object
		members []client.Object
	}
	var all []waiting
	r.mu.Lock()
	for k := range r.index.deletedOwners {
		if o, members := r.index.lookup(k); len(members) > 0 {
			all = append(all, waiting{o, members})
		}
	}
	r.mu.Unlock()
	var out []model.Finding
	for _, w := range all {
		if _, waits := r.decide(w.owner, w.members); waits != "" {
			at := model.NewOrigin(dialect.RefOf(w.owner))
			out = append(out, model.NewFinding(at, model.CodePendingMembers, waits))
		}
	}
	return model.SortFindings(out)
}

func (r *Reconciler) failed(k key, err error) {
	level := slog.LevelWarn
	if apierrors.IsConflict(err) {
		level = slog.LevelDebug
	}
	r.Log.Log(context.Background(), level, "finalizers are not updated; retrying",
		"kind", k.kind.Elem().Name(), "namespace", k.Namespace, "name", k.Name, "error", err)
}

func (r *Reconciler) unfinished() []key {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.index.unfinished()
}

func (r *Reconciler) lookup(k key) (o client.Object, members []client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.index.lookup(k)
}

// reconcile changes the finalizers of an object, or records an event that it waits.
func (r *Reconciler) reconcile(ctx context.Context, k key) (again time.Duration, err error) {
	o, members := r.lookup(k)
	if o == nil {
		return 0, nil
	}
	want, waits := r.decide(o, members)
	switch {
	case waits != "":
		return r.remind(k, o, waits), nil
	case len(want) < len(o.GetFinalizers()):
		return 0, r.update(ctx, o, members)
	case len(want) > len(o.GetFinalizers()):
		if wait := r.awaitTurn(k); wait > 0 {
			return wait, nil
		}
		return 0, r.update(ctx, o, members)
	}
	return 0, nil
}

func (r *Reconciler) decide(o client.Object, members []client.Object) (want []string, waits string) {
	return decide(r.index.dialects[reflect.TypeOf(o)], o, members)
}

// awaitTurn returns the time until an object may get a finalizer.
func (r *Reconciler) awaitTurn(k key) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	turn, has := r.turns[k]
	if !has {
		turn = time.Now().Add(r.additions.Reserve().Delay())
	}
	wait := time.Until(turn)
	if wait > 0 {
		r.turns[k] = turn
	} else {
		delete(r.turns, k)
	}
	return wait
}

// remind records an event unless the last one is recent, and returns the time until the next one.
func (r *Reconciler) remind(k key, o client.Object, text string) time.Duration {
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

// update reads the object from the API server and patches its finalizers. The watched object may be outdated, and the
// patch must not revert concurrent changes.
func (r *Reconciler) update(ctx context.Context, o client.Object, members []client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	now := o.DeepCopyObject().(client.Object)
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
		return client.IgnoreNotFound(err)
	}
	finalizers, _ := r.decide(now, members)
	if now.GetUID() != o.GetUID() || slices.Equal(finalizers, now.GetFinalizers()) {
		return nil
	}
	want := now.DeepCopyObject().(client.Object)
	want.SetFinalizers(finalizers)
	patch := client.MergeFromWithOptions(now, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Client.Patch(ctx, want, patch))
}
