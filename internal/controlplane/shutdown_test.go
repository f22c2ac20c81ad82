package controlplane

import (
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"
)

// A replica that ends is not ready, and closes its connections to API servers, so that they open new ones to replicas
// that stay. It answers those that still connect to it.
func TestReplicaServesWebhooksDuringShutdown(t *testing.T) {
	t.Parallel()
	// The requests below come within the delay, also on a machine that other work keeps busy.
	r, _, _, address := startWebhooksWith(t, func(cp *controlPlane) { cp.ShutdownDelay = 45 * time.Second })
	server := reviewer(t, "127.0.0.9")
	create := func() {
		t.Helper()
		if injected, err := createPod(server, address, "front"); err != nil || !injected {
			t.Fatalf("a pod that is created: injected %v, error %v", injected, err)
		}
	}
	// connection returns the one that answers a request; a request may be repeated on another one than it began on.
	connection := func() (last net.Conn) {
		t.Helper()
		trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { last = c.Conn }}
		request, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace),
			http.MethodPost, "https://"+address+"/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return last
	}
	create()
	before := connection()
	r.stop()
	r.eventually("not ready", func() bool {
		err := r.health("/readyz")
		return err != nil && strings.Contains(err.Error(), "the control plane is shutting down")
	})
	r.eventually("API servers use no connection from before the shutdown", func() bool { return connection() != before })
	create()
	if err := r.health("/livez"); err != nil {
		t.Errorf("a replica that ends is not live: %v", err)
	}
}
