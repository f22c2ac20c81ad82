package check

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/cli/inspect"
	"anymesh.dev/anymesh/internal/delivery/xds/clientstatus"
	"anymesh.dev/anymesh/internal/engine"
)

// A pod that hangs while it initializes is listed: its sidecar had the time to connect, or ended before.
func TestInitializingPodsAreListed(t *testing.T) {
	running := func(since time.Duration, restarts int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "envoy", RestartCount: restarts, State: corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-since))}}}
	}
	for name, c := range map[string]struct {
		status corev1.ContainerStatus
		listed bool
	}{
		"not started":            {corev1.ContainerStatus{Name: "envoy"}, false},
		"started now":            {running(time.Second, 0), false},
		"started an hour ago":    {running(time.Hour, 0), true},
		"restarted":              {running(time.Second, 1), true},
		"another init container": {corev1.ContainerStatus{Name: "migrate", RestartCount: 7}, false},
	} {
		p := &corev1.Pod{Status: corev1.PodStatus{
			Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{c.status},
		}}
		p.Spec.InitContainers = []corev1.Container{agent()}
		if runs(p) != c.listed {
			t.Errorf("%s: listed %v, want %v", name, !c.listed, c.listed)
		}
	}
}

// withSidecars returns a cluster with a state and connected sidecars.
func withSidecars(s *engine.State, all ...inspect.Sidecar) *Cluster {
	return &Cluster{
		State:    func(context.Context) (*engine.State, error) { return s, nil },
		Sidecars: func(context.Context) ([]inspect.Sidecar, error) { return all, nil },
	}
}

// A pod without an agent whose proxy a driver connects to has a sidecar.
func TestDrivenProxiesAreSidecars(t *testing.T) {
	s := state()
	meshed := inspect.Sidecar{Client: clientstatus.Client{Identity: "uid of meshed"}}
	driven := inspect.Sidecar{Client: clientstatus.Client{Identity: "uid of bare"}}
	detail, err := missing(s, []inspect.Sidecar{meshed, driven}, newAuthority(t))
	if err != nil || detail != "2 of 2" {
		t.Errorf("missing: %q, %v", detail, err)
	}
	if detail, err := injected(t.Context(), withSidecars(s, driven)); err != nil || detail != "2 pods" {
		t.Errorf("injected: %q, %v", detail, err)
	}
}
