package native

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// A session moves to another endpoint when its own is removed, if its route says so.
func TestRESTSessionMoves(t *testing.T) {
	server, port := freeTCPPort(t), freeTCPPort(t)
	one, two := fmt.Sprintf("127.0.0.1:%d", server), fmt.Sprintf("127.0.0.2:%d", server)
	greeter(t, one, func(c net.Conn) { t.Cleanup(func() { _ = c.Close() }) })
	greeter(t, two, func(c net.Conn) { t.Cleanup(func() { _ = c.Close() }) })
	old := startOldProxy(t)
	view := restView(server, port)
	view.Inbound[0].Routes[0].Action.Retry = model.Retry{Retries: 3, Conditions: []model.RetryCondition{model.RetryDisconnect}}
	mesh := &restMesh{
		view: view, endpoints: map[string][]string{"server": {"127.0.0.1"}}, findings: map[string][]model.Finding{},
	}
	broker := &sidecar.Broker{}
	ctx, cancel := context.WithCancel(t.Context())
	pusher := &restPusher{catalog: mesh, broker: broker, report: mesh.report, port: old.port, http: http.DefaultClient}
	var running sync.WaitGroup
	running.Go(func() { pusher.run(ctx) })
	defer running.Wait()
	defer cancel()
	broker.Publish(sidecar.Changes{All: true})
	var c net.Conn
	eventually(t, func() (err error) {
		c, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		return err
	})
	defer func() { _ = c.Close() }()
	for i, want := range []string{one, two} {
		if i > 0 {
			mesh.mu.Lock()
			mesh.endpoints["server"] = []string{"127.0.0.2"}
			mesh.mu.Unlock()
			broker.Publish(sidecar.Changes{Destinations: []model.Key{{Mesh: "m", Name: "server"}}})
		}
		got := make([]byte, len(want))
		_ = c.SetReadDeadline(time.Now().Add(2 * time.Minute))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
			t.Fatalf("got %q, want %q: %v", got, want, err)
		}
	}
}
