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

// BenchmarkMemory measures the live heap of a Deliverer with an xDS server, for services that are each a workload, and
// 20 workloads that have all services as backends: without clients, and with clients of one of the 20.
func BenchmarkMemory(b *testing.B) {
	const services, workloads = 10_000, 20
	for name, client := range map[string]string{"clients=0": "none", "clients=1": "m/c00_a"} {
		b.Run(fmt.Sprintf("services=%d/%s", services, name), func(b *testing.B) {
			log := slog.New(slog.DiscardHandler)
			var first engine.Change
			e := engine.New(log, []dialect.Dialect{appmesh.Dialect{}}, engine.Settings{}, func(c engine.Change) { first = c })
			texts := []string{memoryMesh}
			for i := range services {
				texts = append(texts, strings.ReplaceAll(memoryService, "NAME", fmt.Sprintf("s%05d", i)))
			}
			for i := range workloads {
				texts = append(texts, strings.ReplaceAll(memoryClient, "NAME", fmt.Sprintf("c%02d", i)))
			}
			for _, o := range objects(b, strings.Join(texts, "\n---\n")) {
				e.Set(o)
			}
			e.Sync()
			for b.Loop() {
				before := liveHeap()
				d := delivery.New(log, delivery.Class{Name: envoy.Name, Default: true}, func() {})
				d.Connect(e, &clientsOf{xds.NewServer(byNode, xds.Options{Observer: d, Logger: log}), client})
				d.SetRenderer(envoy.Driver{})
				d.Deliver(first)
				b.ReportMetric((liveHeap()-before)/services, "B/service")
				runtime.KeepAlive(d)
			}
		})
	}
}
