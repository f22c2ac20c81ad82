package native

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
	"anymesh.dev/anymesh/test/freeport"
)

// restSessions is a proxy with one listener whose route has retries, and a client with a session to the first of two
// servers.
type restSessions struct {
	t      *testing.T
	proxy  *oldProxy
	mesh   *restMesh
	broker *sidecar.Broker
	client net.Conn
	two    string
}

func newRESTSessions(t *testing.T) *restSessions {
	t.Helper()
	server, port := freeport.Port(t), freeport.Port(t)
	one, two := fmt.Sprintf("127.0.0.1:%d", server), fmt.Sprintf("127.0.0.2:%d", server)
	greeter(t, one, func(c net.Conn) { t.Cleanup(func() { _ = c.Close() }) })
	greeter(t, two, func(c net.Conn) { t.Cleanup(func() { _ = c.Close() }) })
	view := restView(server, port)
	view.Inbound[0].Routes[0].Action.Retry = model.Retry{Retries: 3, Conditions: []model.RetryCondition{model.RetryDisconnect}}
	mesh := &restMesh{
		view: view, endpoints: map[string][]string{"server": {"127.0.0.1"}}, findings: map[string][]model.Finding{},
	}
	s := &restSessions{t: t, proxy: startOldProxy(t), mesh: mesh, broker: &sidecar.Broker{}, two: two}
	ctx, cancel := context.WithCancel(t.Context())
	pusher := &restPusher{catalog: mesh, broker: s.broker, report: mesh.report, port: s.proxy.port, http: http.DefaultClient}
	var running sync.WaitGroup
	running.Go(func() { pusher.run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	s.broker.Publish(sidecar.Changes{All: true})
	eventually(t, func() (err error) {
		s.client, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		return err
	})
	t.Cleanup(func() { _ = s.client.Close() })
	s.greets(one)
	return s
}

// greets checks that a server greets the client.
func (s *restSessions) greets(want string) {
	s.t.Helper()
	got := make([]byte, len(want))
	_ = s.client.SetReadDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.ReadFull(s.client, got); err != nil || string(got) != want {
		s.t.Fatalf("got %q, want %q: %v", got, want, err)
	}
}

// replaceEndpoint makes the second server the only one.
func (s *restSessions) replaceEndpoint() {
	s.mesh.mu.Lock()
	s.mesh.endpoints["server"] = []string{"127.0.0.2"}
	s.mesh.mu.Unlock()
	s.broker.Publish(sidecar.Changes{Destinations: []model.Key{{Mesh: "m", Name: "server"}}})
}

// clusters waits until the proxy has a number of clusters for the server.
func (s *restSessions) clusters(want int) {
	s.t.Helper()
	eventually(s.t, func() error {
		s.broker.Publish(sidecar.Changes{All: true}) // so that it is compared again
		n := 0
		for _, name := range s.proxy.names(s.t, restClusters) {
			if strings.HasPrefix(name, restPrefix) {
				n++
			}
		}
		if n != want {
			return fmt.Errorf("the proxy has %d clusters, want %d", n, want)
		}
		return nil
	})
}

// A session moves to another endpoint when its own is removed, if its route says so.
func TestRESTSessionMoves(t *testing.T) {
	s := newRESTSessions(t)
	s.replaceEndpoint()
	s.greets(s.two)
}

// So does a session from before a change of what cannot change in place. The cluster from before ends after its
// sessions.
func TestRESTFormerSessionMoves(t *testing.T) {
	s := newRESTSessions(t)
	s.mesh.mu.Lock()
	view := *s.mesh.view
	view.Destinations = slices.Clone(view.Destinations)
	view.Destinations[0].Balance = model.Balance{Policy: model.ConsistentHash, HashKey: "/IP/src_addr"}
	s.mesh.view = &view
	s.mesh.mu.Unlock()
	s.clusters(2)
	s.replaceEndpoint()
	s.greets(s.two)
	_ = s.client.(*net.TCPConn).SetLinger(0) // a reset: the server does not close
	_ = s.client.Close()
	s.clusters(1)
}

// A session stays while the weight of its endpoint changes, and moves when the endpoint is removed afterwards.
func TestRESTSessionStaysWithOtherWeight(t *testing.T) {
	s := newRESTSessions(t)
	weight := func(w uint32) {
		s.mesh.mu.Lock()
		s.mesh.weight = w
		s.mesh.mu.Unlock()
		s.broker.Publish(sidecar.Changes{Destinations: []model.Key{{Mesh: "m", Name: "server"}}})
	}
	weight(3)
	s.clusters(2)
	weight(5)
	weight(1) // the cluster of the session again
	s.clusters(1)
	weight(5)
	s.clusters(2)
	s.replaceEndpoint()
	s.greets(s.two)
	_ = s.client.(*net.TCPConn).SetLinger(0) // a reset: the server does not close
	_ = s.client.Close()
	s.clusters(1)
}
