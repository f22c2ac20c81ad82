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
	"anymesh.dev/anymesh/internal/store"
)

// Sink receives each change after the mesh is updated. Calls do not overlap. A slow sink delays the next sync, which
// then coalesces more events.
type Sink func(Change)

// Engine turns object events into changes of the mesh. Use New.
type Engine struct {
	sinks   []Sink
	log     *slog.Logger
	metrics *metrics

	mu            sync.Mutex
	pending       map[id]event
	trustDomains  []string  // those that the next sync takes; nil for no change
	oldestPending time.Time // when the oldest pending event arrived; zero if there is none
	started       bool      // the first sync is complete
	nextChange    chan struct{}
	wake          chan struct{}

	// world is written by Sync and read by queries.
	stateMu  sync.RWMutex
	state    *meshState
	snapshot *State // copy of state, made on demand; guarded by mu
}

// id identifies an object of any kind.
type id struct {
	kind reflect.Type
	name types.NamespacedName
}

func idOf(o client.Object) id { return id{reflect.TypeOf(o), client.ObjectKeyFromObject(o)} }

// event is the latest event of an object.
type event struct {
	object  client.Object
	deleted bool
}

// New creates an engine. It calls the sinks in the given order.
func New(log *slog.Logger, dialects []dialect.Dialect, settings Settings, sinks ...Sink) *Engine {
	return &Engine{
		sinks: sinks, log: log, metrics: newMetrics(), state: newMeshState(dialects, settings),
		pending: map[id]event{}, nextChange: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// AddSink adds a sink; call it before Run.
func (e *Engine) AddSink(s Sink) { e.sinks = append(e.sinks, s) }

// Set adds an object or replaces the one of its kind, namespace and name. The engine keeps the object;
// the caller must not modify it. Of a pod, it keeps a store.Pod.
func (e *Engine) Set(object client.Object) { e.enqueue(event{object: store.Compact(object)}) }

// Delete removes the object with the kind, namespace and name of the given one.
func (e *Engine) Delete(object client.Object) {
	e.enqueue(event{object: store.Compact(object), deleted: true})
}

func (e *Engine) enqueue(ev event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pending[idOf(ev.object)] = ev
	if e.oldestPending.IsZero() {
		e.oldestPending = time.Now()
	}
	e.wakeUp()
}

// SetTrustDomains sets the trust domains of the roots that workloads trust, besides those that objects name.
func (e *Engine) SetTrustDomains(domains []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.trustDomains = domains
	e.wakeUp()
}

func (e *Engine) wakeUp() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run syncs until the context ends. The first sync takes all pending events, so start it after all existing objects are
// set.
func (e *Engine) Run(ctx context.Context) error {
	for {
		e.Sync()
		select {
		case <-ctx.Done():
			return nil
		case <-e.wake:
		}
	}
}

// Sync applies all pending events and passes the resulting change to the sinks. Run calls Sync when events are pending.
// Tests and commands call it directly instead of Run.
func (e *Engine) Sync() {
	e.mu.Lock()
	events, since, domains := e.pending, e.oldestPending, e.trustDomains
	e.pending, e.oldestPending, e.trustDomains = map[id]event{}, time.Time{}, nil
	select {
	case <-e.wake: // the pending events are already taken
	default:
	}
	e.mu.Unlock()

	begun := time.Now()
	c := e.apply(events, domains)
	c.Started, c.Synced, c.Events = begun, time.Now(), len(events)
	e.mu.Lock()
	if e.started {
		c.Since = since
	}
	e.started = true
	e.snapshot = nil
	next := e.nextChange
	e.nextChange = make(chan struct{})
	e.mu.Unlock()
	e.log.Debug("change", "events", len(events), "views", len(c.Views), "outboundViews", len(c.OutboundViews),
		"destinations", len(c.Destinations), "pods", len(c.Pods), "findingsChanged", len(c.FindingsChanged))
	for _, sink := range e.sinks {
		sink(c)
	}
	e.metrics.observe(c, time.Now())
	close(next)
}

func (e *Engine) apply(events map[id]event, trustDomains []string) Change {
	e.stateMu.Lock()
	defer e.stateMu.Unlock()
	if trustDomains != nil {
		e.state.mesh.TrustDomains.Set(struct{}{}, trustDomains)
	}
	for _, ev := range events {
		if ev.deleted {
			e.state.objects.Delete(ev.object)
		} else {
			e.state.objects.Set(ev.object)
		}
	}
	c := e.state.sync()
	for _, p := range e.state.graph.Panics() {
		e.metrics.failures.Add(float64(p.Count))
		if len(p.Stack) > 0 {
			e.log.Error("a rule failed, its last good result stays in use", "rule", p.Rule, "key", p.Key, "panic", p.Text,
				"evaluations", p.Count, "stack", string(p.Stack))
		}
	}
	for _, ev := range events {
		if ev.deleted {
			c.Deleted = append(c.Deleted, ev.object)
		} else {
			c.Objects = append(c.Objects, ev.object)
		}
	}
	return c
}
