package controlplane

import (
	"strings"
	"testing"
	"time"
)

// A replica that ends is not ready, and still answers API servers on new connections, which learn of its end later.
func TestWebhooksAreServedWhileTheReplicaEnds(t *testing.T) {
	t.Parallel()
	r, _, _, address := startWebhooksWith(t, func(cp *controlPlane) { cp.ShutdownDelay = 5 * time.Second })
	r.stop()
	r.eventually("not ready", func() bool {
		err := r.health("/readyz")
		return err != nil && strings.Contains(err.Error(), "the control plane ends")
	})
	if injected, err := createPod(reviewer(t, "127.0.0.9"), address, "front"); err != nil || !injected {
		t.Errorf("a pod that is created while the replica ends: injected %v, error %v", injected, err)
	}
	if err := r.health("/livez"); err != nil {
		t.Errorf("a replica that ends is not live: %v", err)
	}
}
