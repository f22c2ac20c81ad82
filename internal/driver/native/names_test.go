package native_test

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/test/freeport"
)

// meanings are the objects that the name users can mean, in the order of the steps.
const meanings = `
{apiVersion: l7mp.io/v1, kind: Target, metadata: {name: users, namespace: web}, spec: {cluster: {spec: {TCP: {port: $0}}, endpoints: [{spec: {address: 127.0.0.1}}]}}}
---
{apiVersion: l7mp.io/v1, kind: VirtualService, metadata: {name: users, namespace: web}, spec: {selector: {matchLabels: {app: users}}, listener: {spec: {TCP: {port: $1}}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: users, namespace: web}, spec: {selector: {app: users}, ports: [{port: 30, targetPort: $2}]}}
`

// caller is a gateway whose listener leads to users, and a pod.
const caller = `
{apiVersion: v1, kind: Pod, metadata: {name: gateway, namespace: web, uid: g, labels: {app: gateway, anymesh.dev/proxy-uuid: g}}, spec: {containers: [{name: l7mp}]}, status: {podIP: 127.0.0.1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: users, namespace: web, uid: u, labels: {app: users}}, spec: {containers: [{name: app}]}, status: {podIP: 127.0.0.1, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: l7mp.io/v1, kind: VirtualService, metadata: {name: in, namespace: web}, spec: {selector: {matchLabels: {app: gateway}}, listener: {spec: {TCP: {port: $IN}}, rules: [{action: {route: {destination: users}}}]}}}
`

// Clients of a gateway reach the Target of a name, else its VirtualService, else its Service, in every order in which
// these are created and deleted. A connection is closed if there is none of them.
func TestTrafficFollowsNames(t *testing.T) {
	servers := []string{"target", "virtual service", "service"}
	in, objects := freeport.Port(t), meanings
	for i, name := range servers {
		objects = strings.ReplaceAll(objects, fmt.Sprintf("$%d", i), fmt.Sprint(greets(t, name)))
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	e := engine.New(log, dialect.All(), engine.Settings{})
	for _, o := range decode(t, strings.ReplaceAll(caller, "$IN", fmt.Sprint(in))) {
		e.Set(o)
	}
	e.Sync()
	gateway := model.Key{Mesh: "l7mp", Name: "web/gateway"}
	p := proxy.New(t.Context(), log)
	steps := decode(t, objects)
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, created := range orders {
		for _, deleted := range orders {
			present := [3]bool{}
			check := func() {
				t.Helper()
				e.Sync()
				v, _ := e.View(gateway)
				c, _ := configurationOf(t, v, e.ResolvedDestination)
				if err := p.Replace(c); err != nil {
					t.Fatal(err)
				}
				want := ""
				if i := slices.Index(present[:], true); i >= 0 {
					want = servers[i]
				}
				if got := greeting(t, in); got != want {
					t.Fatalf("created %v, deleted %v, now %v: got %q, want %q", created, deleted, present, got, want)
				}
			}
			check()
			for _, i := range created {
				present[i] = true
				e.Set(steps[i])
				check()
			}
			for _, i := range deleted {
				present[i] = false
				e.Delete(steps[i])
				check()
			}
		}
	}
}

// mixed is a Target with pods of two weights, and an address.
const mixed = `
{apiVersion: v1, kind: Pod, metadata: {name: gateway, namespace: web, uid: g, labels: {app: gateway, anymesh.dev/proxy-uuid: g}}, spec: {containers: [{name: l7mp}]}, status: {podIP: 127.0.0.1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: big, namespace: web, uid: b, labels: {app: big}}, status: {podIP: 127.0.0.1, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: small, namespace: web, uid: s, labels: {app: small}}, status: {podIP: 127.0.0.2, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: l7mp.io/v1, kind: VirtualService, metadata: {name: in, namespace: web}, spec: {selector: {matchLabels: {app: gateway}}, listener: {spec: {TCP: {port: $IN}}, rules: [{action: {route: {destination: users}}}]}}}
---
apiVersion: l7mp.io/v1
kind: Target
metadata: {name: users, namespace: web}
spec:
  cluster:
    spec: {TCP: {port: $TO}}
    endpoints: [{selector: {matchLabels: {app: big}}, weight: 7}, {selector: {matchLabels: {app: small}}, weight: 2}, {spec: {address: 127.0.0.3}}]
`

// Connections are shared among pods and addresses of one Target by their weights.
func TestWeightsOfPods(t *testing.T) {
	to, in := freeport.Port(t), freeport.Port(t)
	for _, address := range []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"} {
		greetsAt(t, fmt.Sprintf("%s:%d", address, to), address)
	}
	p := proxy.New(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	text := strings.NewReplacer("$IN", fmt.Sprint(in), "$TO", fmt.Sprint(to)).Replace(mixed)
	if err := p.Replace(configurations(t, text)["web/gateway"]); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for range 100 {
		got[greeting(t, in)]++
	}
	if want := map[string]int{"127.0.0.1": 70, "127.0.0.2": 20, "127.0.0.3": 10}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// greets starts a server that greets each client with a text, and returns its port.
func greets(t *testing.T, text string) int {
	t.Helper()
	return greetsAt(t, "127.0.0.1:0", text)
}

// greetsAt is greets at an address.
func greetsAt(t *testing.T, address, text string) int {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// greeting returns what a server says to a new client; it is empty if the connection is closed before.
func greeting(t *testing.T, port int) string {
	t.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	text, _ := io.ReadAll(c) // a connection that is reset ends with an error
	return string(text)
}
