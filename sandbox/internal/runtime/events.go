package runtime

import (
	"context"
	"sync"
	"time"

	rt "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// events sends changes to the kubelet, which otherwise polls once per second.
type events struct {
	mu   sync.Mutex
	to   chan *rt.ContainerEventResponse // nil while the kubelet is not subscribed
	sent int                             // number of events sent to the channel
}

// refreshPeriod is the period of repeated Pod states. After an action, the kubelet waits up to 5 s for a newer state
// of the Pod before it acts again.
const refreshPeriod = 200 * time.Millisecond

// pollPeriod is the time between two looks at the channel: it does not tell when the kubelet takes an event.
const pollPeriod = time.Millisecond

// taken reports whether the kubelet has taken the first n events, or has ended.
func (e *events) taken(n int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.to == nil || e.sent-len(e.to) >= n
}

// GetContainerEvents implements the CRI: it sends events to the channel until ctx ends.
func (r *Runtime) GetContainerEvents(ctx context.Context, to chan *rt.ContainerEventResponse,
	connected func(rt.RuntimeService_GetContainerEventsClient)) error {
	r.events.mu.Lock()
	r.events.to, r.events.sent = to, 0
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

// deliverStarted tells the kubelet that a container or a Pod has started, and returns when the kubelet has this in its
// cache. Every five seconds, the kubelet takes its cache for current: after a call that returned earlier, it would see
// the state before the call, and repeat it.
func (r *Runtime) deliverStarted(s *sandbox, id string) {
	r.emit(s, id, rt.ContainerEventType_CONTAINER_STARTED_EVENT)
	// The kubelet handles one event after the other: when it takes the second one, on which it does not act, it has
	// handled the first.
	last := r.emit(s, s.id, rt.ContainerEventType_CONTAINER_CREATED_EVENT)
	for !r.events.taken(last) {
		time.Sleep(pollPeriod)
	}
}

// emit sends a change of a container or, with the ID of the Pod, of the Pod to the kubelet. It returns the number of
// events that were sent.
func (r *Runtime) emit(s *sandbox, id string, kind rt.ContainerEventType) int {
	r.events.mu.Lock()
	defer r.events.mu.Unlock()
	if r.events.to == nil {
		return r.events.sent
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
	r.events.sent++
	return r.events.sent
}

// resend repeats the state of a Pod as a "created" event, on which the kubelet does not act. It does nothing if the
// kubelet is busy.
func (r *Runtime) resend(s *sandbox) {
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
			r.resend(s)
		}
	}
}
