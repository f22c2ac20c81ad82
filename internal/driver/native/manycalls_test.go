package native_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/test/freeport"
)

// Twenty calls have one leg at each of two gateways. Both legs of a call meet at one of three workers, and the workers
// share the calls.
func TestCallsOverTwoGateways(t *testing.T) {
	const calls = 20
	addresses := []string{"127.0.0.11", "127.0.0.12", "127.0.0.13"}
	text := strings.NewReplacer("$IN", fmt.Sprint(freeport.Port(t)), "$CODE", fmt.Sprint(freeport.Port(t)),
		"app: gateway", "app: gateway-0").Replace(workers)
	text += strings.NewReplacer("name: gateway", "name: gateway-1", "uid: g,", "uid: g1,", "uuid: g}", "uuid: g1}",
		"app: gateway", "app: gateway-1").Replace("---\n" + strings.Split(workers, "\n---\n")[1] + "\n")
	for i, a := range addresses[1:] {
		text += fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {name: more-%[1]d, namespace: voice, uid: w%[1]d, labels: {app: worker, anymesh.dev/proxy-uuid: w%[1]d}}, spec: {containers: [{name: l7mp}]}, status: {podIP: %[2]s, conditions: [{type: Ready, status: \"True\"}]}}\n", i, a)
	}
	text = strings.Replace(text, "podIP: 127.0.0.1,", "podIP: "+addresses[0]+",", 1)
	var legs [calls][2]int
	for i := range calls {
		for side := range 2 {
			legs[i][side] = freeport.Port(t)
			leg := fmt.Sprintf(call, legs[i][side])
			text += strings.NewReplacer("app: gateway", fmt.Sprintf("app: gateway-%d", side),
				`value: "7"`, fmt.Sprintf(`value: "%d"`, i)).Replace(leg)
		}
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	var apis []string
	gateways, workerName := 0, ""
	for name, c := range configurations(t, text) {
		if strings.Contains(name, "gateway") {
			gateways++
			if err := proxy.New(t.Context(), log).Replace(c); err != nil {
				t.Fatal(err)
			}
			continue
		}
		workerName = name // the workers have the same configuration
	}
	for _, address := range addresses {
		apis = append(apis, serveAt(t, configurations(t, text)[workerName], address))
	}
	if gateways != 2 {
		t.Fatalf("%d gateways", gateways)
	}
	for _, leg := range legs {
		a, b := phone(t, leg[0]), phone(t, leg[1])
		a.hears(t, b, "one")
		b.hears(t, a, "two")
	}
	busy := 0
	for _, api := range apis {
		n := len(sessions(t, api))
		t.Log("sessions of a worker:", n)
		if n > 0 {
			busy++
		}
	}
	if busy < 2 {
		t.Errorf("%d of %d workers have all calls", busy, len(apis))
	}
}

// serveAt runs a proxy whose listeners have an address of their own on this machine. It returns the URL of its API.
func serveAt(t *testing.T, c *config.Config, address string) string {
	t.Helper()
	for i := range c.Listeners {
		c.Listeners[i].Spec.Transport.Address = address
	}
	for i := range c.Clusters {
		for j := range c.Clusters[i].Endpoints {
			c.Clusters[i].Endpoints[j].Spec.Address = address // the transcoder of the pod
		}
	}
	return serve(t, c)
}

// serve runs a proxy, and returns the URL of its API.
func serve(t *testing.T, c *config.Config) string {
	t.Helper()
	port := freeport.Port(t)
	c.Listeners = append(c.Listeners, config.Listener{
		Name: "api", Spec: config.ListenerSpec{Protocol: config.HTTP, Port: port, Address: "127.0.0.1"},
		Rules: config.RulesRef{Inline: []config.RuleRef{{Inline: &config.Rule{Action: config.Action{
			Route: &config.RouteRef{Inline: &config.Route{Destination: config.ClusterRef{Inline: &config.Cluster{
				Spec: config.ClusterSpec{Protocol: config.Controller},
			}}}},
		}}}}},
	})
	if err := proxy.New(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil))).Replace(c); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d/api/v1/", port)
}

// sessions returns the sessions of a proxy over UDP.
func sessions(t *testing.T, api string) []string {
	t.Helper()
	r, err := http.Get(api + "sessions")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var all []struct{ Name string }
	if err := json.NewDecoder(r.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range all {
		if !strings.HasPrefix(s.Name, "HTTP:") {
			out = append(out, s.Name)
		}
	}
	return out
}

// A thousand queries from as many ports have answers, and their sessions end after the idle time.
func TestSessionsOfManySources(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		packet := make([]byte, 100)
		for {
			n, from, err := server.ReadFrom(packet)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(packet[:n], from)
		}
	}()
	port := freeport.Port(t)
	all := configurations(t, fmt.Sprintf(`
{apiVersion: v1, kind: Pod, metadata: {name: gateway, namespace: net, uid: g, labels: {app: gateway, anymesh.dev/proxy-uuid: g}}, spec: {containers: [{name: l7mp}]}, status: {podIP: 127.0.0.1, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: dns, namespace: net, uid: d, labels: {app: dns}}, spec: {containers: [{name: app}]}, status: {podIP: 127.0.0.1, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: l7mp.io/v1, kind: Target, metadata: {name: dns-pods, namespace: net}, spec: {selector: {matchLabels: {app: gateway}}, cluster: {spec: {UDP: {port: %d}}, endpoints: [{selector: {matchLabels: {app: dns}}}]}}}
---
{apiVersion: l7mp.io/v1, kind: VirtualService, metadata: {name: dns-gateway, namespace: net}, spec: {selector: {matchLabels: {app: gateway}}, listener: {spec: {UDP: {port: %d}}, rules: [{action: {route: {destination: dns-pods, retry: {retry_on: always, num_retries: 3, timeout: 2000}}}}]}}}
`, server.LocalAddr().(*net.UDPAddr).Port, port))
	if len(all) != 1 {
		t.Fatalf("%d proxies", len(all))
	}
	var api string
	for _, c := range all {
		idle := 3000
		c.Listeners[0].Spec.Options = &config.UDPOptions{IdleTimeout: &idle}
		api = serve(t, c)
	}
	most := 0
	for i := range 1000 {
		source := phone(t, port)
		query := fmt.Sprint("query ", i)
		answered := false
		for end := time.Now().Add(time.Minute); !answered && time.Now().Before(end); {
			_, _ = source.Write([]byte(query))
			_ = source.SetReadDeadline(time.Now().Add(time.Second))
			packet := make([]byte, 100)
			n, err := source.Read(packet)
			answered = err == nil && string(packet[:n]) == query
		}
		if !answered {
			t.Fatalf("query %d has no answer", i)
		}
		if i%100 == 99 {
			most = max(most, len(sessions(t, api)))
		}
	}
	t.Log("most sessions at a time:", most)
	if most < 2 {
		t.Errorf("%d sessions at a time", most)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		n := len(sessions(t, api))
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d sessions are left", n)
		}
	}
}
