package aggregate

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// openWatches are the open watches that the cache, or that the control plane answers.
type openWatches struct {
	mutex sync.Mutex
	open  map[*openWatch]bool
	// closed is set when the server ends: new watches end at once.
	closed bool
}

type openWatch struct {
	resource schema.GroupVersionResource
	// end ends the watch. An error with a Status is its last event.
	end context.CancelCauseFunc
	// review returns why the watch has to end, if it does.
	review func(ctx context.Context, authorize bool) error
}

// add returns the context of a watch, and a function that releases it.
func (o *openWatches) add(
	ctx context.Context, resource schema.GroupVersionResource, review func(context.Context, bool) error,
) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &openWatch{resource, cancel, review}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.closed {
		cancel(nil)
	}
	if o.open == nil {
		o.open = map[*openWatch]bool{}
	}
	o.open[w] = true
	return ctx, func() {
		cancel(nil)
		o.mutex.Lock()
		defer o.mutex.Unlock()
		delete(o.open, w)
	}
}

// all returns the open watches.
func (o *openWatches) all() []*openWatch {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return slices.Collect(maps.Keys(o.open))
}

// endOf ends the watches of kinds. Clients of the control plane's objects list again when the cache has the kind,
// because it answers 410 to versions of the control plane.
func (o *openWatches) endOf(kinds map[schema.GroupVersionResource]*registered) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for w := range o.open {
		if _, ok := kinds[w.resource]; ok {
			w.end(nil)
		}
	}
}

// close ends all watches, also those that come later.
func (o *openWatches) close() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.closed = true
	for w := range o.open {
		w.end(nil)
	}
}
