package delivery_test

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/engine"
)

// Objects of a mesh whose clients have all services as backends.
const (
	memoryMesh = `
{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: m}, spec: {namespaceSelector: {}}}
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: BackendGroup, metadata: {name: g, namespace: a}, spec: {virtualservices: [{name: "*"}]}}`
	memoryService = `
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualNode, metadata: {name: NAME, namespace: a}, spec: {podSelector: {matchLabels: {app: NAME}},
  listeners: [{portMapping: {port: 80, protocol: http}}], serviceDiscovery: {awsCloudMap: {namespaceName: x, serviceName: NAME}}}}
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualService, metadata: {name: NAME, namespace: a},
  spec: {provider: {virtualNode: {virtualNodeRef: {name: NAME}}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: NAME-1, namespace: a, uid: NAME-1, labels: {app: NAME}},
  status: {podIP: 10.0.0.1, conditions: [{type: Ready, status: 'True'}]}}`
	memoryClient = `
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualNode, metadata: {name: NAME, namespace: a},
  spec: {podSelector: {matchLabels: {app: NAME}}, backendGroups: [{name: g}]}}`
)

func liveHeap() float64 {
	for range 3 { // weak references and cleanups take more than one collection
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// newMemoryMesh computes a mesh of services that are each a workload, and workloads that have all services as backends.
// It returns the first change.
func newMemoryMesh(tb testing.TB, services, workloads int) (*engine.Engine, engine.Change) {
	tb.Helper()
	var first engine.Change
	e := engine.New(slog.New(slog.DiscardHandler), []dialect.Dialect{appmesh.Dialect{}}, engine.Settings{},
		func(c engine.Change) { first = c })
	texts := []string{memoryMesh}
	for i := range services {
		texts = append(texts, strings.ReplaceAll(memoryService, "NAME", fmt.Sprintf("s%05d", i)))
	}
	for i := range workloads {
		texts = append(texts, strings.ReplaceAll(memoryClient, "NAME", fmt.Sprintf("c%02d", i)))
	}
	for _, o := range objects(tb, strings.Join(texts, "\n---\n")) {
		e.Set(o)
	}
	e.Sync()
	return e, first
}

// memoryOf returns the live heap of a Deliverer with an xDS server, in bytes, if workloads whose key has a prefix have
// clients.
func memoryOf(e *engine.Engine, first engine.Change, prefix string) float64 {
	log := slog.New(slog.DiscardHandler)
	before := liveHeap()
	d := delivery.New(log, delivery.Class{Name: envoy.Name, Default: true}, func() {})
	d.Connect(e, &clientsOf{xds.NewServer(byNode, xds.Options{Observer: d, Logger: log}), prefix})
	d.SetRenderer(envoy.Driver{})
	d.Deliver(first)
	used := liveHeap() - before
	runtime.KeepAlive(d)
	return used
}

// Workloads without clients need little memory.
func TestMemoryWithoutClients(t *testing.T) {
	const services, most = 1000, 1000 // bytes for each service
	e, first := newMemoryMesh(t, services, 5)
	with := memoryOf(e, first, "m/") / services // first: it initializes message types
	without := memoryOf(e, first, "none") / services
	t.Logf("%.0f bytes for each service without clients, %.0f if all workloads have clients", without, with)
	if without > most || with < 4*without {
		t.Errorf("%.0f bytes for each service without clients, want at most %d and a quarter of %.0f", without, most, with)
	}
}

// BenchmarkMemory measures the live heap of a Deliverer with an xDS server: without clients, and with clients of one of
// 20 workloads that have all services as backends.
func BenchmarkMemory(b *testing.B) {
	const services = 10_000
	for name, prefix := range map[string]string{"clients=0": "none", "clients=1": "m/c00_a"} {
		b.Run(fmt.Sprintf("services=%d/%s", services, name), func(b *testing.B) {
			e, first := newMemoryMesh(b, services, 20)
			for b.Loop() {
				b.ReportMetric(memoryOf(e, first, prefix)/services, "B/service")
			}
		})
	}
}
