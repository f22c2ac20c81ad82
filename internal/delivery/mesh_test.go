package delivery_test

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

const shop = `
{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: m}, spec: {namespaceSelector: {}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: front, namespace: a}
spec: {podSelector: {matchLabels: {app: front}}, backends: [{virtualService: {virtualServiceRef: {name: back}}}]}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: back, namespace: a}
spec:
  podSelector: {matchLabels: {app: back}}
  listeners: [{portMapping: {port: 80, protocol: http}}]
  serviceDiscovery: {dns: {hostname: back.example}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {name: back, namespace: a}
spec: {provider: {virtualNode: {virtualNodeRef: {name: back}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: front-1, namespace: a, uid: p1, labels: {app: front}}}
`

var (
	front = model.Key{Mesh: "m", Name: "front_a"}
	back  = model.Key{Mesh: "m", Name: "back_a"}
)

const (
	clusters  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	listeners = "type.googleapis.com/envoy.config.listener.v3.Listener"
	toBack    = "cds_egress_m_back_a_http_80"
)

// objects decodes YAML documents.
func objects(t testing.TB, text string) []client.Object {
	t.Helper()
	var out []client.Object
	for _, document := range strings.Split(text, "\n---\n") {
		var kind struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatal(err)
		}
		o := map[string]client.Object{
			"Mesh": &api.Mesh{}, "VirtualNode": &api.VirtualNode{}, "VirtualService": &api.VirtualService{},
			"VirtualRouter": &api.VirtualRouter{}, "VirtualGateway": &api.VirtualGateway{}, "Pod": &corev1.Pod{},
			"BackendGroup": &api.BackendGroup{},
		}[kind.Kind]
		if err := yaml.UnmarshalStrict([]byte(document), o); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		out = append(out, o)
	}
	return out
}

// recordingPublisher records calls and passes them to an xDS server.
type recordingPublisher struct {
	*xds.Server
	connectedOnly bool // only workloads with connected clients have clients; else all have
	mu            sync.Mutex
	calls         []string
	shared        map[string]*xds.Shared // last published, by key
}

func (p *recordingPublisher) HasClients(key string) bool {
	return !p.connectedOnly || p.Server.HasClients(key)
}

func (p *recordingPublisher) record(call string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, call)
}

func (p *recordingPublisher) Publish(key string, s *xds.Snapshot, since time.Time) {
	p.record("publish " + key)
	p.mu.Lock()
	if p.shared == nil {
		p.shared = map[string]*xds.Shared{}
	}
	p.shared[key] = s.Shared
	p.mu.Unlock()
	p.Server.Publish(key, s, since)
}

func (p *recordingPublisher) Update(shared *xds.Shared, u *xds.Update, since time.Time) int {
	var names []string
	for _, r := range u.Changed {
		names = append(names, " +"+r.Name)
	}
	for _, r := range u.Removed {
		names = append(names, " -"+r.Name)
	}
	slices.Sort(names)
	p.mu.Lock()
	for key, s := range p.shared {
		if s == shared {
			p.calls = append(p.calls, "update "+key+strings.Join(names, ""))
		}
	}
	p.mu.Unlock()
	return p.Server.Update(shared, u, since)
}

func (p *recordingPublisher) Unpublish(key string) bool {
	done := p.Server.Unpublish(key)
	if done {
		p.record("unpublish " + key)
		p.forget(key)
	}
	return done
}

func (p *recordingPublisher) Remove(key string) {
	p.record("remove " + key)
	p.forget(key)
	p.Server.Remove(key)
}

func (p *recordingPublisher) forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.shared, key)
}

// takeCalls returns the calls since the last takeCalls, sorted.
func (p *recordingPublisher) takeCalls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := slices.Sorted(slices.Values(p.calls))
	p.calls = nil
	return out
}

// fixture is a deliverer with the Envoy driver, an engine and an xDS server.
type fixture struct {
	*delivery.Deliverer
	engine    *engine.Engine
	publisher *recordingPublisher
	changed   int
}

func (f *fixture) objects() []client.Object {
	return f.engine.Objects(func(client.Object) bool { return true })
}

// apply replaces all objects in one change.
func (f *fixture) apply(now []client.Object) {
	for _, o := range f.objects() {
		f.engine.Delete(o)
	}
	for _, o := range now {
		f.engine.Set(o)
	}
	f.engine.Sync()
}

// applyYAML replaces all objects by those of YAML documents.
func (f *fixture) applyYAML(t *testing.T, text string) {
	t.Helper()
	f.apply(objects(t, text))
}

// newFixture creates a fixture in which all workloads have clients, also without connections.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureWith(t, xds.Options{})
}

func newFixtureWith(t *testing.T, o xds.Options) *fixture {
	t.Helper()
	return newFixtureOf(t, appmesh.Dialect{}, o)
}

func newFixtureOf(t *testing.T, d dialect.Dialect, o xds.Options) *fixture {
	t.Helper()
	f := &fixture{}
	f.Deliverer = delivery.New(slog.New(slog.DiscardHandler), delivery.Class{Name: envoy.Name, Default: true}, func() {
		f.changed++
	})
	o.Observer, o.Logger = f.Deliverer, slog.New(slog.DiscardHandler)
	f.publisher = &recordingPublisher{Server: xds.NewServer(byNode, o)}
	f.engine = engine.New(slog.New(slog.DiscardHandler), []dialect.Dialect{d}, engine.Settings{}, f.Deliver)
	f.Connect(f.engine, f.publisher)
	f.SetRenderer(envoy.Driver{})
	return f
}

func texts(findings []model.Finding) string {
	var out []string
	for _, f := range findings {
		out = append(out, f.String())
	}
	return strings.Join(out, "\n")
}
