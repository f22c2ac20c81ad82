package native

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
	"anymesh.dev/anymesh/test/freeport"
)

var gateway = model.Key{Mesh: "m", Name: "gateway"}

// restMesh is a catalog with one workload, whose proxy has no agent.
type restMesh struct {
	mu        sync.Mutex
	view      *model.View
	endpoints map[string][]string // ports of loopback addresses, by destination
	weight    uint32              // of all endpoints; 0 is 1
	findings  map[string][]model.Finding
}

func (m *restMesh) View(model.Key) (*model.View, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.view, true
}

func (m *restMesh) ResolvedDestination(_, key model.Key) (out model.ResolvedDestination, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out.Destination, ok = m.view.Destination(key.Name)
	for i, address := range m.endpoints[key.Name] {
		out.Endpoints = append(out.Endpoints, model.Endpoint{
			Instance: model.Instance{Name: fmt.Sprint(i)}, Addresses: []netip.Addr{netip.MustParseAddr(address)}, Ready: true,
			Weight: m.weight,
		})
	}
	return out, ok
}

func (m *restMesh) Workloads() []model.Key { return []model.Key{gateway} }

func (m *restMesh) WithoutAgent(model.Key) []model.Endpoint {
	return []model.Endpoint{{
		Workload: gateway, Instance: model.Instance{Namespace: "voice", Name: "old", UID: "1"},
		Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, SidecarClass: Name,
	}}
}

func (m *restMesh) report(subject string, findings []model.Finding) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.findings[subject] = findings
}

func (m *restMesh) texts() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprint(m.findings)
}

func hangUp(c net.Conn) { _ = c.Close() }

// greeter is a TCP server on an address that greets each client with its address. then gets the connection.
func greeter(t *testing.T, address string, then func(net.Conn)) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("no second loopback address: %v", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, address)
			then(c)
		}
	}()
}

// restView is a view with a listener for each port, all to one destination.
func restView(to int, ports ...int) *model.View {
	key := model.Key{Mesh: "m", Name: "server"}
	v := &model.View{Workload: model.Workload{
		Key: gateway, Role: model.RoleGateway,
		Origin: model.NewOrigin(model.ObjectRef{Kind: "Namespace", Name: "voice"}),
	}}
	v.Destinations = []model.Destination{{
		Key: key, Protocol: model.TCP, Port: uint16(to), Discovery: model.Discovery{Kind: model.DiscoverInstances},
	}}
	for _, port := range ports {
		at := model.NewOrigin(model.ObjectRef{Kind: "VirtualService", Namespace: "voice", Name: fmt.Sprint(port)})
		v.Inbound = append(v.Inbound, model.Inbound{
			Listener: model.Listener{Port: uint16(port), Protocol: model.TCP, Router: "r", Origin: at},
			Routes: []model.Route{{Name: "all", Protocol: model.TCP, Origin: at, Action: model.Action{
				Destinations: []model.WeightedDestination{{Destination: key.Name, Weight: 1}},
			}}},
		})
	}
	return v
}

// eventually waits until a check passes.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

func answers(port int, want string) func() error {
	return func() error {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		got, _ := io.ReadAll(c) // what is there tells enough
		if string(got) != want {
			return fmt.Errorf("port %d: got %q, want %q", port, got, want)
		}
		return nil
	}
}

// A proxy that runs without an agent gets its configuration over REST: objects of others stay, unless they have the
// port of one of ours; then only what differs is sent.
func TestREST(t *testing.T) {
	server, first, second := freeport.Port(t), freeport.Port(t), freeport.Port(t)
	one, two := fmt.Sprintf("127.0.0.1:%d", server), fmt.Sprintf("127.0.0.2:%d", server)
	greeter(t, one, hangUp)
	greeter(t, two, hangUp)
	old := startOldProxy(t)
	client := restClient{fmt.Sprintf("http://127.0.0.1:%d/api/v1/", old.port), http.DefaultClient}
	for name, port := range map[string]int{"of-operator": first, "of-user": freeport.Port(t)} {
		if err := client.post(t.Context(), "listener", map[string]any{
			"name": name, "spec": map[string]any{"protocol": "TCP", "port": port}, "rules": []any{},
		}, restListeners); err != nil {
			t.Fatal(err)
		}
	}
	old.took()

	mesh := &restMesh{
		view: restView(server, first), endpoints: map[string][]string{"server": {"127.0.0.1"}},
		findings: map[string][]model.Finding{},
	}
	broker := &sidecar.Broker{}
	ctx, cancel := context.WithCancel(t.Context())
	pusher := &restPusher{catalog: mesh, broker: broker, report: mesh.report, port: old.port, http: http.DefaultClient}
	var running sync.WaitGroup
	running.Go(func() { pusher.run(ctx) })
	defer running.Wait()
	defer cancel()
	broker.Publish(sidecar.Changes{All: true})
	eventually(t, answers(first, one))
	sent := map[string]int{
		"DELETE listeners": 1, "POST clusters": 2, "POST listeners": 1, "POST routes": 1, "POST rules": 1, "POST rulelists": 2,
	}
	sends(t, old, sent)
	if names := old.names(t, "listeners"); slices.Contains(names, "of-operator") || !slices.Contains(names, "of-user") ||
		!slices.Contains(names, "controller-listener") {
		t.Errorf("listeners are %v", names)
	}

	change := func(do func(), changes sidecar.Changes) {
		mesh.mu.Lock()
		do()
		mesh.mu.Unlock()
		broker.Publish(changes)
	}
	ofServer := sidecar.Changes{Destinations: []model.Key{{Mesh: "m", Name: "server"}}}
	change(func() { mesh.endpoints["server"] = []string{"127.0.0.2"} }, ofServer)
	eventually(t, answers(first, two))
	sends(t, old, map[string]int{"POST clusters": 1, "DELETE endpoints": 1})

	ofGateway := sidecar.Changes{Workloads: []model.Key{gateway}}
	change(func() { mesh.view = restView(server, first, second) }, ofGateway)
	eventually(t, answers(second, two))
	sends(t, old, map[string]int{"POST listeners": 1, "POST routes": 1, "POST rules": 1, "POST rulelists": 1})

	// A rule before the others: the list changes in place, and the listener stays.
	change(func() {
		v := restView(server, first, second)
		closed := v.Inbound[0].Routes[0]
		closed.Name, closed.Action = "closed", model.Action{}
		v.Inbound[0].Routes = []model.Route{closed, v.Inbound[0].Routes[0]}
		mesh.view = v
	}, ofGateway)
	eventually(t, answers(first, ""))
	sends(t, old, map[string]int{"POST rules": 1, "POST rulelists": 1})
	change(func() { mesh.view = restView(server, first, second) }, ofGateway)
	eventually(t, answers(first, two))
	sends(t, old, map[string]int{"DELETE rulelists": 1, "DELETE rules": 1})

	// What the proxy refuses is a finding of its object, and is tried again.
	third := freeport.Port(t)
	old.mu.Lock()
	old.refuse = fmt.Sprintf(`"port":%d`, third)
	old.mu.Unlock()
	change(func() { mesh.view = restView(server, second, third) }, ofGateway)
	eventually(t, func() error {
		text := mesh.texts()
		if !strings.Contains(text, string(model.CodeRejected)) || !strings.Contains(text, "voice/old") ||
			!strings.Contains(text, fmt.Sprint(third)) || !strings.Contains(text, "no such thing") {
			return fmt.Errorf("findings: %s", text)
		}
		return nil
	})
	if all := pusher.proxies(); len(all) != 1 || !all[0].Synced || !strings.Contains(all[0].Error, "no such thing") {
		t.Errorf("got proxies %+v", all)
	}
	old.mu.Lock()
	old.refuse = ""
	old.mu.Unlock()
	eventually(t, answers(third, two))
	eventually(t, func() error {
		if text := mesh.texts(); strings.Contains(text, "voice/old:[{") {
			return fmt.Errorf("findings: %s", text)
		}
		return nil
	})
	eventually(t, func() error {
		if all := pusher.proxies(); len(all) != 1 || all[0].Error != "" || all[0].Listeners != 2 ||
			all[0].Workload != gateway {
			return fmt.Errorf("proxies are %+v", all)
		}
		names := old.names(t, "listeners")
		if len(names) != 4 { // ours, that of the user, and that of the API
			return fmt.Errorf("listeners are %v", names)
		}
		return nil
	})
}
