package runtime

import (
	"context"
	"sync"
)

// stopGrace is the stop timeout of containers in StopAll, in seconds.
const stopGrace = 2

// StopAll stops all containers when the lab stops.
func (r *Runtime) StopAll() {
	r.mu.Lock()
	var all []*container
	for _, c := range r.containers {
		all = append(all, c)
	}
	r.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() { _ = r.StopContainer(context.Background(), c.id, stopGrace) })
	}
	wg.Wait()
}
