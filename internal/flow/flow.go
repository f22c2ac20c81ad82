package flow

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
)

// Sink gets each new state, and the one before it (nil at first). Calls do not overlap; a slow sink delays the next state,
// which then takes more changes together.
type Sink func(old, now *State)

// Flow turns objects into states. Use New.
type Flow struct {
	dialects []dialect.Dialect
	sinks    []Sink
	log      *slog.Logger

	mu      sync.Mutex
	objects map[ID]client.Object
	changed time.Time // when the first change since the last state came; zero if there was none
	wake    chan struct{}

	state atomic.Pointer[State]
	next  chan struct{} // closed when the next state is there; guarded by mu
}

// ID names an object of any kind.
type ID struct {
	Kind      schema.GroupKind
	Namespace string
	Name      string
}

// New makes a flow. Sinks are called in the order given.
func New(log *slog.Logger, dialects []dialect.Dialect, sinks ...Sink) *Flow {
	return &Flow{dialects: dialects, sinks: sinks, log: log, objects: map[ID]client.Object{}, wake: make(chan struct{}, 1), next: make(chan struct{})}
}

// AddSink adds a sink; call it before Run.
func (f *Flow) AddSink(s Sink) { f.sinks = append(f.sinks, s) }

// Set adds an object or replaces it. The flow keeps it; it must not change any more.
func (f *Flow) Set(id ID, object client.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[id] = object
	f.touch()
}

// Delete forgets an object.
func (f *Flow) Delete(id ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.objects[id]; known {
		delete(f.objects, id)
		f.touch()
	}
}

func (f *Flow) touch() {
	if f.changed.IsZero() {
		f.changed = time.Now()
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// State gives the newest state, nil before the first.
func (f *Flow) State() *State { return f.state.Load() }

// Await gives the first state, from now on, for which ready is true. The error is that of the context.
func (f *Flow) Await(ctx context.Context, ready func(*State) bool) (*State, error) {
	for {
		f.mu.Lock()
		next := f.next
		f.mu.Unlock()
		if s := f.State(); s != nil && ready(s) {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-next:
		}
	}
}

// Run makes states until the context ends. It makes the first one at once, so start it when the objects are there.
func (f *Flow) Run(ctx context.Context) error {
	for {
		f.step()
		select {
		case <-ctx.Done():
			return nil
		case <-f.wake:
		}
	}
}

// step makes the next state and hands it out.
func (f *Flow) step() {
	f.mu.Lock()
	objects := make([]client.Object, 0, len(f.objects))
	ids := make([]ID, 0, len(f.objects))
	for id := range f.objects {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, ID.compare)
	for _, id := range ids {
		objects = append(objects, f.objects[id])
	}
	changed := f.changed
	f.changed = time.Time{}
	select {
	case <-f.wake: // for changes that are in already
	default:
	}
	f.mu.Unlock()

	old := f.state.Load()
	now := Compute(f.dialects, objects, old)
	now.Changed = changed
	f.state.Store(now)
	f.log.Debug("new state", "objects", len(objects), "workloads", len(now.Views), "findings", len(now.Findings))
	for _, sink := range f.sinks {
		sink(old, now)
	}
	f.mu.Lock()
	close(f.next)
	f.next = make(chan struct{})
	f.mu.Unlock()
}

func (a ID) compare(b ID) int {
	return cmp.Or(cmp.Compare(a.Kind.Group, b.Kind.Group), cmp.Compare(a.Kind.Kind, b.Kind.Kind),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// String gives "Kind.group namespace/name".
func (a ID) String() string { return fmt.Sprintf("%s %s/%s", a.Kind, a.Namespace, a.Name) }
