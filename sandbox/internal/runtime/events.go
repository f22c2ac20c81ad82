package runtime

import (
	"context"
	"sync"
	"time"

	rt "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// events hands changes to the kubelet at once; without them it would look only once a second.
type events struct {
	mu sync.Mutex
	to chan *rt.ContainerEventResponse // nil until the kubelet listens
}

// refreshPeriod is how often each Pod's state is told again. The kubelet does not act on a Pod before it has heard of
// it after its last action, and would otherwise wait up to 5 s for that.
const refreshPeriod = 200 * time.Millisecond

// GetContainerEvents implements the CRI: it feeds the channel until ctx ends.
func (r *Runtime) GetContainerEvents(ctx context.Context, to chan *rt.ContainerEventResponse,
	connected func(rt.RuntimeService_GetContainerEventsClient)) error {
	r.events.mu.Lock()
	r.events.to = to
	r.events.mu.Unlock()
	if connected != nil {
		connected(nil)
	}
	<-ctx.Done()
	r.events.mu.Lock()
	r.events.to = nil
	r.events.mu.Unlock()
	return ctx.Err()
}

// emit tells the kubelet about a change of a container or, with the Pod's own id, of the Pod.
func (r *Runtime) emit(s *sandbox, id string, kind rt.ContainerEventType) {
	r.events.mu.Lock()
	defer r.events.mu.Unlock()
	if r.events.to == nil {
		return
	}
	r.mu.Lock()
	e := &rt.ContainerEventResponse{
		ContainerId: id, ContainerEventType: kind, CreatedAt: time.Now().UnixNano(), PodSandboxStatus: s.status(),
	}
	for _, c := range r.containersOf(s.id) {
		e.ContainersStatuses = append(e.ContainersStatuses, c.status())
	}
	r.mu.Unlock()
	r.events.to <- e
}

// retell repeats a Pod's state without making the kubelet act: that is what it does about "created". A busy kubelet is
// left alone.
func (r *Runtime) retell(s *sandbox) {
	r.events.mu.Lock()
	busy := len(r.events.to) > cap(r.events.to)/2
	r.events.mu.Unlock()
	if !busy {
		r.emit(s, s.id, rt.ContainerEventType_CONTAINER_CREATED_EVENT)
	}
}

func (r *Runtime) refresh() {
	for range time.Tick(refreshPeriod) {
		r.mu.Lock()
		pods := make([]*sandbox, 0, len(r.sandboxes))
		for _, s := range r.sandboxes {
			pods = append(pods, s)
		}
		r.mu.Unlock()
		for _, s := range pods {
			r.retell(s)
		}
	}
}
