package runtime

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	rt "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestCallsEndAfterTheirEvent checks that the kubelet has handled the event of its call when the call returns. With an
// older state, the kubelet would repeat the call: it would run an init container that has completed again.
func TestCallsEndAfterTheirEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		r := &Runtime{}
		to := make(chan *rt.ContainerEventResponse, 10)
		var handled atomic.Int32
		subscribed := make(chan struct{})
		go func() {
			_ = r.GetContainerEvents(ctx, to, func(rt.RuntimeService_GetContainerEventsClient) { close(subscribed) })
		}()
		<-subscribed
		ended := make(chan struct{})
		go func() {
			for e := range to {
				time.Sleep(time.Second) // the time that the kubelet takes for an event
				if e.ContainerEventType == rt.ContainerEventType_CONTAINER_STARTED_EVENT {
					handled.Add(1)
				}
			}
			close(ended)
		}()
		pod := &sandbox{id: "pod", cfg: &rt.PodSandboxConfig{}}
		r.emit(pod, "earlier", rt.ContainerEventType_CONTAINER_CREATED_EVENT)
		r.deliverStarted(pod, "ctr")
		if handled.Load() != 1 {
			t.Error("the call returned before the kubelet has handled its event")
		}
		stop()
		synctest.Wait()
		r.deliverStarted(pod, "after the end of the kubelet")
		close(to)
		<-ended
	})
}
