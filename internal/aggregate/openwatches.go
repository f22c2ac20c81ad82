package aggregate

import (
	"context"
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
	end      context.CancelFunc
}

// add returns the context of a watch, and a function that releases it.
func (o *openWatches) add(ctx context.Context, resource schema.GroupVersionResource) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	w := &openWatch{resource, cancel}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.closed {
		cancel()
	}
	if o.open == nil {
		o.open = map[*openWatch]bool{}
	}
	o.open[w] = true
	return ctx, func() {
		cancel()
		o.mutex.Lock()
		defer o.mutex.Unlock()
		delete(o.open, w)
	}
}

// endOf ends the watches of kinds. Clients of the control plane's objects list again when the cache has the kind,
// because it answers 410 to versions of the control plane.
func (o *openWatches) endOf(kinds map[schema.GroupVersionResource]*registered) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for w := range o.open {
		if _, ok := kinds[w.resource]; ok {
			w.end()
		}
	}
}

// close ends all watches, also those that come later.
func (o *openWatches) close() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.closed = true
	for w := range o.open {
		w.end()
	}
}
