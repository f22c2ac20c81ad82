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

// Flow turns events about objects into changes of the mesh. Use New.
type Flow struct {
	sinks   []Sink
	log     *slog.Logger
	metrics *metrics

	mu      sync.Mutex
	pending map[id]event
	since   time.Time // when the first pending event came; zero if there is none
	started bool      // the first change has been made
	next    chan struct{}
	wake    chan struct{}

	// world is changed by Run alone, under lock; everybody else reads.
	lock  sync.RWMutex
	world *world
	state *State // of the world as it is, if somebody has asked for it; guarded by mu
}

// id names an object of any kind.
type id struct {
	kind reflect.Type
	name types.NamespacedName
}

// event is the last thing that happened to an object.
type event struct {
	object client.Object
	gone   bool
}

// New makes a flow. Sinks are called in the order given.
func New(log *slog.Logger, dialects []dialect.Dialect, sinks ...Sink) *Flow {
	return &Flow{
		sinks: sinks, log: log, metrics: newMetrics(), world: newWorld(dialects),
		pending: map[id]event{}, next: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// AddSink adds a sink; call it before Run.
func (f *Flow) AddSink(s Sink) { f.sinks = append(f.sinks, s) }

// Set adds an object or replaces the one of its kind, namespace and name. The flow keeps it; it must not change any more.
func (f *Flow) Set(object client.Object) { f.note(event{object: object}) }

// Delete forgets the object of the kind, namespace and name of the one given.
func (f *Flow) Delete(object client.Object) { f.note(event{object: object, gone: true}) }

func (f *Flow) note(e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending[id{reflect.TypeOf(e.object), client.ObjectKeyFromObject(e.object)}] = e
	if f.since.IsZero() {
		f.since = time.Now()
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Run makes changes until the context ends. It takes what is there at once, so start it when all objects are.
func (f *Flow) Run(ctx context.Context) error {
	for {
		f.Settle()
		select {
		case <-ctx.Done():
			return nil
		case <-f.wake:
		}
	}
}

// Settle takes all pending events together, and hands out the change that they make. Run calls it whenever there are some; who wants to
// decide about the time calls it instead of Run.
func (f *Flow) Settle() {
	f.mu.Lock()
	events, since := f.pending, f.since
	f.pending, f.since = map[id]event{}, time.Time{}
	select {
	case <-f.wake: // for events that are in already
	default:
	}
	f.mu.Unlock()

	begun := time.Now()
	c := f.apply(events)
	c.Begun, c.Settled, c.Events = begun, time.Now(), len(events)
	f.mu.Lock()
	if f.started {
		c.Since = since
	}
	f.started = true
	f.state = nil
	next := f.next
	f.next = make(chan struct{})
	f.mu.Unlock()
	f.log.Debug("change", "events", len(events), "views", len(c.Views), "destinations", len(c.Reaches), "pods", len(c.Pods), "told", len(c.Told))
	for _, sink := range f.sinks {
		sink(c)
	}
	f.metrics.observe(c, time.Now())
	close(next)
}

func (f *Flow) apply(events map[id]event) Change {
	f.lock.Lock()
	defer f.lock.Unlock()
	for _, e := range events {
		if e.gone {
			f.world.objects.Delete(e.object)
		} else {
			f.world.objects.Set(e.object)
		}
	}
	c := f.world.settle()
	for _, e := range events {
		if e.gone {
			c.Gone = append(c.Gone, e.object)
		} else {
			c.Objects = append(c.Objects, e.object)
		}
	}
	return c
}
