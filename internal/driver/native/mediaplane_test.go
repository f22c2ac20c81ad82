package native_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/internal/driver/native"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
	"anymesh.dev/anymesh/test/freeport"
)

// workers are a worker, whose transcoder is in the same pod, and the Route of gateways to it.
const workers = `
{apiVersion: v1, kind: Pod, metadata: {name: worker, namespace: voice, uid: w, labels: {app: worker, anymesh.dev/proxy-uuid: w}}, spec: {containers: [{name: l7mp}]}, status: {podIP: 127.0.0.1, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: gateway, namespace: voice, uid: g, labels: {app: gateway, anymesh.dev/proxy-uuid: g}}, spec: {containers: [{name: l7mp}]}, status: {podIP: 127.0.0.1, conditions: [{type: Ready, status: "True"}]}}
---
apiVersion: l7mp.io/v1
kind: Route
metadata: {name: to-worker, namespace: voice}
spec:
  destination: media
  retry: {retry_on: always, num_retries: 3, timeout: 2000}
---
apiVersion: l7mp.io/v1
kind: Target
metadata: {name: media, namespace: voice}
spec:
  cluster:
    spec: {JSONSocket: {transport: {UDP: {port: $IN}}, header: [{path: {from: /labels, to: /labels}}]}}
    loadbalancer: {policy: ConsistentHash, key: /labels/session_id}
    endpoints: [{selector: {matchLabels: {app: worker}}}]
---
{apiVersion: l7mp.io/v1, kind: Target, metadata: {name: meeting, namespace: voice}, spec: {cluster: {spec: {Sync: {query: /JSONSocket/labels/session_id}}}}}
---
apiVersion: l7mp.io/v1
kind: Target
metadata: {name: transcoder, namespace: voice}
spec: {cluster: {spec: {JSONSocket: {transport: {UDP: {port: $CODE}}}}, endpoints: [{spec: {address: 127.0.0.1}}]}}
---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata: {name: transcoder, namespace: voice}
spec:
  selector: {matchLabels: {app: worker}}
  listener:
    spec: {JSONSocket: {transport: {UDP: {port: $CODE}}}}
    rules: [{action: {route: {destination: {Echo: {}}}}}]
---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata: {name: worker-in, namespace: voice}
spec:
  selector: {matchLabels: {app: worker}}
  listener:
    spec: {JSONSocket: {transport: {UDP: {port: $IN}}}}
    rules: [{action: {route: {destination: meeting, ingress: [transcoder]}}}]
`

// call is the VirtualService of a leg of a call.
const call = `---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata: {name: call-%[1]d, namespace: voice}
spec:
  selector: {matchLabels: {app: gateway}}
  listener:
    spec: {UDP: {port: %[1]d}}
    rules: [{action: {rewrite: [{path: /labels/session_id, value: "7"}], route: to-worker}}]
    options: {track: 600, removeOrphanSessions: true}
`

// The legs of a call meet at a worker, by objects of l7mp and packets of two proxies. When the VirtualService of a leg
// is deleted, the other one goes on, and meets a third.
func TestLegsOfCallMeet(t *testing.T) {
	ports := map[string]int{}
	text := workers
	for _, name := range []string{"IN", "CODE", "A", "B", "C"} {
		ports[name] = freeport.Port(t)
		text = strings.ReplaceAll(text, "$"+name, fmt.Sprint(ports[name]))
	}
	proxies := map[string]*proxy.Proxy{}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	serve := func(legs ...string) {
		t.Helper()
		all := text
		for _, name := range legs {
			all += fmt.Sprintf(call, ports[name])
		}
		for name, c := range configurations(t, all) {
			if proxies[name] == nil {
				proxies[name] = proxy.New(t.Context(), log)
			}
			if err := proxies[name].Replace(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	serve("A", "B")
	a, b := phone(t, ports["A"]), phone(t, ports["B"])
	a.hears(t, b, "one")
	b.hears(t, a, "two")
	serve("A", "C")
	c := phone(t, ports["C"])
	a.hears(t, c, "three")
	c.hears(t, a, "four")
}

// configurations returns the configuration of the proxy of each workload.
func configurations(t *testing.T, manifests string) map[string]*config.Config {
	t.Helper()
	state := engine.Compute(dialect.All(), engine.Settings{}, decode(t, manifests))
	for _, f := range state.Findings {
		t.Errorf("finding: %v", f)
	}
	out := map[string]*config.Config{}
	for key, v := range state.Views {
		c, found := configurationOf(t, v.View, state.Index.ResolvedDestination)
		for _, f := range append(found, model.Unsupported(native.Name, v.Needs(), native.Driver{}.Supports())...) {
			t.Errorf("finding: %v", f)
		}
		out[key.Name] = c
	}
	return out
}

// decode decodes manifests.
func decode(t *testing.T, manifests string) []client.Object {
	t.Helper()
	scheme, err := dialect.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	var objects []client.Object
	for _, text := range bytes.Split([]byte(manifests), []byte("\n---\n")) {
		var raw map[string]any
		if err := yaml.Unmarshal(text, &raw); err != nil {
			t.Fatal(err)
		}
		typed, err := scheme.New((&unstructured.Unstructured{Object: raw}).GroupVersionKind())
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(text, typed); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, typed.(client.Object))
	}
	return objects
}

// configurationOf returns the configuration of the proxy with a view, without the listener of metrics: its port is that
// of all proxies, which share a host here.
func configurationOf(t *testing.T, v *model.View, resolve func(model.Key) (model.ResolvedDestination, bool)) (
	*config.Config, []model.Finding) {
	t.Helper()
	resources, findings := sidecar.Configuration(native.Driver{}, v, resolve)
	whole := &config.Config{}
	for _, r := range resources {
		if r.Name == "stats" {
			continue
		}
		var value any
		part := &config.Config{}
		if err := json.Unmarshal(r.Body, &value); err != nil {
			t.Fatal(err)
		}
		if err := config.Decode("", value, part); err != nil {
			t.Fatal(err)
		}
		whole.Listeners = append(whole.Listeners, part.Listeners...)
		whole.Clusters = append(whole.Clusters, part.Clusters...)
		whole.RuleLists = append(whole.RuleLists, part.RuleLists...)
	}
	return whole, findings
}

// handset is a phone that speaks to a gateway.
type handset struct{ net.Conn }

func phone(t *testing.T, port int) handset {
	t.Helper()
	c, err := net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return handset{c}
}

// hears waits until the phone hears what another one says. Both speak: the session of a leg begins with its first
// packet.
func (h handset) hears(t *testing.T, other handset, text string) {
	t.Helper()
	packet := make([]byte, 100)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		_, _ = h.Write([]byte("here"))
		_, _ = other.Write([]byte(text))
		_ = h.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		for {
			n, err := h.Read(packet)
			if err != nil {
				break
			}
			if string(packet[:n]) == text {
				return
			}
		}
	}
	t.Fatalf("a phone does not hear %q", text)
}
