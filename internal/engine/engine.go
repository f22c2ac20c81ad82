package engine

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
)

// Sink gets each change, once it is in. Calls do not overlap; a slow sink delays the next change, which then takes more events
// together.
type Sink func(Change)

// Engine turns events about objects into changes of the mesh. Use New.
type Engine struct {
	sinks   []Sink
	log     *slog.Logger
	metrics *metrics

	mu            sync.Mutex
	pending       map[id]event
	oldestPending time.Time // when the first pending event came; zero if there is none
	started       bool      // the first change has been made
	nextChange    chan struct{}
	wake          chan struct{}

	// world is changed by Run alone, under lock; everybody else reads.
	stateMu  sync.RWMutex
	state    *meshState
	snapshot *State // of the world as it is, if somebody has asked for it; guarded by mu
}

// id names an object of any kind.
type id struct {
	kind reflect.Type
	name types.NamespacedName
}

// event is the last thing that happened to an object.
type event struct {
	object  client.Object
	deleted bool
}

// New makes a flow. Sinks are called in the order given.
func New(log *slog.Logger, dialects []dialect.Dialect, sinks ...Sink) *Engine {
	return &Engine{
		sinks: sinks, log: log, metrics: newMetrics(), state: newMeshState(dialects),
		pending: map[id]event{}, nextChange: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// AddSink adds a sink; call it before Run.
func (f *Engine) AddSink(s Sink) { f.sinks = append(f.sinks, s) }

// Set adds an object or replaces the one of its kind, namespace and name. The flow keeps it; it must not change any more.
func (f *Engine) Set(object client.Object) { f.enqueue(event{object: object}) }

// Delete forgets the object of the kind, namespace and name of the one given.
func (f *Engine) Delete(object client.Object) { f.enqueue(event{object: object, deleted: true}) }

func (f *Engine) enqueue(e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending[id{reflect.TypeOf(e.object), client.ObjectKeyFromObject(e.object)}] = e
	if f.oldestPending.IsZero() {
		f.oldestPending = time.Now()
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Run makes changes until the context ends. It takes what is there at once, so start it when all objects are.
func (f *Engine) Run(ctx context.Context) error {
	for {
		f.Sync()
		select {
		case <-ctx.Done():
			return nil
		case <-f.wake:
		}
	}
}

// Sync takes all pending events together, and hands out the change that they make. Run calls it whenever there are some; who wants to
// decide about the time calls it instead of Run.
func (f *Engine) Sync() {
	f.mu.Lock()
	events, since := f.pending, f.oldestPending
	f.pending, f.oldestPending = map[id]event{}, time.Time{}
	select {
	case <-f.wake: // for events that are in already
	default:
	}
	f.mu.Unlock()

	begun := time.Now()
	c := f.apply(events)
	c.Started, c.Synced, c.Events = begun, time.Now(), len(events)
	f.mu.Lock()
	if f.started {
		c.Since = since
	}
	f.started = true
	f.snapshot = nil
	next := f.nextChange
	f.nextChange = make(chan struct{})
	f.mu.Unlock()
	f.log.Debug("change", "events", len(events), "views", len(c.Views), "destinations", len(c.Destinations), "pods", len(c.Pods), "told", len(c.FindingsChanged))
	for _, sink := range f.sinks {
		sink(c)
	}
	f.metrics.observe(c, time.Now())
	close(next)
}

func (f *Engine) apply(events map[id]event) Change {
	f.stateMu.Lock()
	defer f.stateMu.Unlock()
	for _, e := range events {
		if e.deleted {
			f.state.objects.Delete(e.object)
		} else {
			f.state.objects.Set(e.object)
		}
	}
	c := f.state.sync()
	for _, e := range events {
		if e.deleted {
			c.Deleted = append(c.Deleted, e.object)
		} else {
			c.Objects = append(c.Objects, e.object)
		}
	}
	return c
}
