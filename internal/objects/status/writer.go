// Package status tells users what became of their objects.
//
// In: changes of the mesh, and the findings about its objects. Out: the status of each object that changed or is spoken of, written when
// it is not what it should be, by one writer for the whole control plane, at a bounded rate; an event when a condition becomes False;
// and the conditions of pods whose readiness would wait for a registry that is no more.
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
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/objects/workqueue"
	"anymesh.dev/anymesh/model"
)

const (
	// WritesPerSecond bounds what the API server gets from us if Options.WritesPerSecond is 0, however many findings there are.
	WritesPerSecond = 50
	// burst is how many writes may follow one another at once.
	burst = 100
	// workers is how many objects are written at the same time.
	workers = 4
	// minWriteInterval is the least time between two writes of one object: of what happens meanwhile, the last is written.
	minWriteInterval = time.Second
	// writeTimeout bounds one write.
	writeTimeout = 10 * time.Second
	// resyncPeriod is how often everything is looked at, for statuses that others have overwritten.
	resyncPeriod = 10 * time.Minute
)

// Dialect is a dialect that gives objects of its kinds a status.
type Dialect interface {
	// Kinds gives an empty object of each kind that it reads.
	Kinds() []client.Object
	// Status gives a copy of an object of its kinds with the status that it should have: as a member of a mesh, or "", with all findings
	// about it.
	Status(object client.Object, mesh string, findings []model.Finding, now time.Time) client.Object
}

// Mesh is what there is to say about objects, as it is now.
type Mesh interface {
	Findings(about model.ObjectRef) []model.Finding
	MeshOf(object model.ObjectRef) string
}

// Options say what a writer works with. All are required but WritesPerSecond and Registerer.
type Options struct {
	Dialects []Dialect
	// Gates are the readiness gates of pods that nobody but us opens any more: their conditions are kept True.
	Gates []dialect.ReadinessGate
	// Cache reads objects as they are now, no older than the changes are; Client writes.
	Cache    client.Reader
	Client   client.Client
	Recorder events.EventRecorder
	Mesh     Mesh
	// Delivered gives the findings that come after the mesh: what is wrong between it and the sidecars.
	Delivered func() []model.Finding
	// WritesPerSecond is how many statuses are written at most; WritesPerSecond, the constant, if it is not positive.
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
	wake    chan struct{} // the findings of the delivery are others

	mu        sync.Mutex
	tracked   map[model.ObjectRef]trackedObject
	delivered map[model.ObjectRef][]model.Finding
}

// New makes a writer. It is an error of the program if two dialects have one kind.
func New(o Options) (*Writer, error) {
	if o.WritesPerSecond <= 0 {
		o.WritesPerSecond = WritesPerSecond
	}
	w := &Writer{
		Options: o, kinds: map[schema.GroupKind]kindInfo{}, queue: workqueue.New[model.ObjectRef]("status", o.Registerer),
		limiter: rate.NewLimiter(rate.Limit(o.WritesPerSecond), burst), wake: make(chan struct{}, 1), tracked: map[model.ObjectRef]trackedObject{},
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_status_writes_total", Help: "Writes of statuses and of pods' readiness gates, by result: written, conflict, gone, failed.",
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

// Run writes until the context ends, beginning with a look at everything. Only one replica may run it, once at a time.
func (w *Writer) Run(ctx context.Context) {
	w.updateDelivered()
	var both sync.WaitGroup
	both.Go(func() { w.watchDelivered(ctx) })
	both.Go(func() {
		w.queue.Run(ctx, workqueue.Reconciler[model.ObjectRef]{Workers: workers, ListKeys: w.all, Reconcile: w.reconcile, OnFailure: w.failed})
	})
	both.Wait()
}

// failed logs an error once in a row. That somebody else was faster is none.
func (w *Writer) failed(ref model.ObjectRef, err error) {
	level := slog.LevelWarn
	if apierrors.IsConflict(err) {
		level = slog.LevelDebug
	}
	w.Log.Log(context.Background(), level, "status is not written; it will be tried again",
		"kind", ref.Kind, "namespace", ref.Namespace, "name", ref.Name, "error", err)
}

// watchDelivered looks at what the delivery speaks of, and at everything now and then.
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
			select { // findings of the delivery come from as many sidecars as there are
			case <-ctx.Done():
			case <-time.After(minDeliveredInterval):
			}
		}
	}
}

// reconcile brings one object's status up to date.
func (w *Writer) reconcile(ctx context.Context, ref model.ObjectRef) (again time.Duration, err error) {
	e, ok := w.trackedObject(ref)
	if !ok {
		return 0, nil // it is gone
	}
	if wait := time.Until(e.written.Add(minWriteInterval)); wait > 0 {
		return wait, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if isPod(ref) {
		return 0, w.reconcileGates(ctx, ref, e.uid)
	}
	return 0, w.reconcileStatus(ctx, ref, e)
}
