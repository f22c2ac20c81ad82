// Package status writes the status of users' objects.
//
// In: changes of the mesh, and findings about its objects. Out: the status of each object that changed or has changed
// findings, written by the leader at a limited rate if it differs from the desired status; an event when a condition
// is False for some seconds, or becomes True again; and the conditions of readiness gates that a former controller
// managed.
package status

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/objects/workqueue"
	"anymesh.dev/anymesh/model"
)

const (
	// WritesPerSecond is the default limit of writes to the API server.
	WritesPerSecond = 50
	// burst is the burst size of the rate limiter.
	burst = 100
	// workers is the number of concurrent writes.
	workers = 4
	// minWriteInterval is the minimum time between two writes of one object. Changes within it are coalesced.
	minWriteInterval = time.Second
	// findingsDelay is the time without changed findings before a write, and maxFindingsDelay limits it, unless the
	// object itself changed. A reference that is missing for a shorter time changes no status: one object can be named
	// by hundreds of others.
	findingsDelay    = time.Second
	maxFindingsDelay = 5 * time.Second
	// writeTimeout bounds one write.
	writeTimeout = 10 * time.Second
	// resyncPeriod is the interval at which all objects are reconciled, to restore statuses that other clients
	// overwrote.
	resyncPeriod = 10 * time.Minute
)

// Mesh returns the objects of the current mesh, with what their status says.
type Mesh interface {
	// Object returns the object of a kind with a name, ObjectsOf lists the objects of a kind. Pods are *engine.Pod.
	Object(kind client.Object, name types.NamespacedName) (client.Object, bool)
	ObjectsOf(kind client.Object) []client.Object
	Findings(about model.ObjectRef) []model.Finding
	// MeshOf returns the name of the mesh of an object, or "". StateOf returns its state, or nil, see store.NewStates.
	MeshOf(object model.ObjectRef) string
	StateOf(dialect string, object model.ObjectRef) any
}

// Options configure a Writer. All fields except WritesPerSecond and Registerer are required.
type Options struct {
	Dialects []dialect.Statuses
	// Gates are the readiness gates of pods whose conditions are kept True, because their controller no longer runs.
	Gates []dialect.ReadinessGate
	// Cache reads objects that are at least as new as the changes; Client writes.
	Cache    client.Reader
	Client   client.Client
	Recorder events.EventRecorder
	Mesh     Mesh
	// Delivered returns the delivery findings.
	Delivered func() []model.Finding
	// WritesPerSecond limits the writes; if it is not positive, the constant of that name applies.
	WritesPerSecond int
	Log             *slog.Logger
	Registerer      prometheus.Registerer
}

// Writer writes statuses. Use New.
type Writer struct {
	Options
	kinds   map[schema.GroupKind]kindInfo
	queue   *workqueue.Queue[model.ObjectRef]
	limiter *rate.Limiter
	writes  *prometheus.CounterVec
	wake    chan struct{} // the delivery findings may have changed
	pending pendingWarnings
	states  *states

	mu        sync.Mutex
	delivered map[model.ObjectRef][]model.Finding
}

// New creates a writer. It returns an error if two dialects have the same kind.
func New(o Options) (*Writer, error) {
	if o.WritesPerSecond <= 0 {
		o.WritesPerSecond = WritesPerSecond
	}
	w := &Writer{
		Options: o, kinds: map[schema.GroupKind]kindInfo{},
		queue:   workqueue.New[model.ObjectRef]("status", o.Registerer),
		limiter: rate.NewLimiter(rate.Limit(o.WritesPerSecond), burst), wake: make(chan struct{}, 1),
		states: newStates(),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_status_writes_total",
			Help: "Writes of statuses and of pods' readiness gates, by result: written, conflict, gone, failed.",
		}, []string{"result"}),
	}
	for _, result := range results {
		w.writes.WithLabelValues(result)
	}
	if o.Registerer != nil {
		o.Registerer.MustRegister(w.writes)
	}
	return w, w.registerKinds()
}

// Run writes statuses until the context ends, starting with all objects. Only the leader may run it. Calls must not
// overlap.
func (w *Writer) Run(ctx context.Context) {
	w.updateDelivered()
	var both sync.WaitGroup
	both.Go(func() { w.watchDelivered(ctx) })
	both.Go(func() {
		w.queue.Run(ctx, workqueue.Reconciler[model.ObjectRef]{
			Workers: workers, ListKeys: w.all, Reconcile: w.reconcile, OnFailure: w.failed,
		})
	})
	both.Wait()
}

// failed logs the first of consecutive errors. Conflicts are logged at debug level.
func (w *Writer) failed(ref model.ObjectRef, err error) {
	level := slog.LevelWarn
	if apierrors.IsConflict(err) {
		level = slog.LevelDebug
	}
	w.Log.Log(context.Background(), level, "status is not written; retrying",
		"kind", dialect.KindName(schema.GroupKind{Group: ref.Group, Kind: ref.Kind}), "namespace", ref.Namespace, "name", ref.Name, "error", err)
}

// watchDelivered enqueues objects whose delivery findings changed, and all objects at each resync.
func (w *Writer) watchDelivered(ctx context.Context) {
	everything := time.NewTicker(resyncPeriod)
	defer everything.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-everything.C:
			w.queue.Add(w.all()...)
		case <-w.wake:
			w.queue.Add(w.updateDelivered()...)
			select { // limits the comparisons: every sidecar can change the delivery findings
			case <-ctx.Done():
			case <-time.After(minDeliveredInterval):
			}
		}
	}
}

// reconcile writes the status or the readiness gates of one object.
func (w *Writer) reconcile(ctx context.Context, ref model.ObjectRef) (again time.Duration, err error) {
	o := w.object(ref)
	if o == nil {
		return 0, nil // deleted
	}
	if wait := w.states.wait(ref, time.Now()); wait > 0 {
		return wait, nil
	}
	w.states.markSettled(ref)
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if pod, is := o.(*engine.Pod); is {
		return 0, w.reconcileGates(ctx, ref, pod)
	}
	if err := w.reconcileStatus(ctx, ref, o); err != nil {
		return 0, err
	}
	return w.pending.wait(ref), nil
}
