package delivery_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/engine"
)

// shiftTexts are the objects of a service with two VirtualNodes.
const shiftTexts = `
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualNode, metadata: {name: NAME-a, namespace: a}, spec: {podSelector: {matchLabels: {app: NAME-a}},
  listeners: [{portMapping: {port: 80, protocol: http}}], serviceDiscovery: {awsCloudMap: {namespaceName: x, serviceName: NAME-a}}}}
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualNode, metadata: {name: NAME-b, namespace: a}, spec: {podSelector: {matchLabels: {app: NAME-b}},
  listeners: [{portMapping: {port: 80, protocol: http}}], serviceDiscovery: {awsCloudMap: {namespaceName: x, serviceName: NAME-b}}}}
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualService, metadata: {name: NAME, namespace: a}, spec: {provider: {virtualRouter: {virtualRouterRef: {name: NAME}}}}}
`

// shiftedRouter is the router of a service; WEIGHT is the weight of its second VirtualNode.
const shiftedRouter = `
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualRouter, metadata: {name: NAME, namespace: a}, spec: {
  listeners: [{portMapping: {port: 80, protocol: http}}],
  routes: [{name: r, httpRoute: {match: {prefix: /}, action: {weightedTargets: [
    {virtualNodeRef: {name: NAME-a}, weight: 10}, {virtualNodeRef: {name: NAME-b}, weight: WEIGHT}]}}}]}}
`

func shiftedTo(tb testing.TB, service, weight int) client.Object {
	tb.Helper()
	return objects(tb, strings.NewReplacer("NAME", fmt.Sprintf("s%04d", service), "WEIGHT", fmt.Sprint(weight)).
		Replace(shiftedRouter))[0]
}

// shiftObjects returns services, and clients that have all services as backends.
func shiftObjects(tb testing.TB, services, clients int) []client.Object {
	tb.Helper()
	out := objects(tb, strings.Split(shop, "\n---\n")[0])
	var all []api.Backend
	for i := range services {
		name := fmt.Sprintf("s%04d", i)
		out = append(append(out, objects(tb, strings.ReplaceAll(shiftTexts, "NAME", name))...), shiftedTo(tb, i, 1))
		all = append(all, api.Backend{VirtualService: api.VirtualServiceBackend{
			VirtualServiceRef: &api.VirtualServiceReference{Name: name},
		}})
	}
	for i := range clients {
		text := fmt.Sprintf("{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualNode, metadata: {name: c%04d, namespace: a}, "+
			"spec: {podSelector: {matchLabels: {app: c%04d}}}}", i, i)
		node := objects(tb, text)[0].(*api.VirtualNode)
		node.Spec.Backends = all
		out = append(out, node)
	}
	return out
}

// clientsOf is an xDS server without streams, on which workloads whose key has a prefix have clients.
type clientsOf struct {
	*xds.Server
	prefix string
}

func (p *clientsOf) HasClients(key string) bool { return strings.HasPrefix(key, p.prefix) }

// BenchmarkShift measures the change of a weight in a route that all clients use, with the Envoy driver and an xDS
// server without streams.
func BenchmarkShift(b *testing.B) {
	for _, clients := range []int{1, 200} {
		b.Run(fmt.Sprintf("services=1000/clients=%d", clients), func(b *testing.B) {
			log := slog.New(slog.DiscardHandler)
			d := delivery.New(log, delivery.Class{Name: envoy.Name, Default: true}, func() {})
			e := engine.New(log, []dialect.Dialect{appmesh.Dialect{}}, engine.Settings{}, d.Deliver)
			d.Connect(e, &clientsOf{xds.NewServer(byNode, xds.Options{Observer: d, Logger: log}), "m/c"})
			d.SetRenderer(envoy.Driver{})
			for _, o := range shiftObjects(b, 1000, clients) {
				e.Set(o)
			}
			start := time.Now()
			e.Sync()
			b.Logf("first sync: %s", time.Since(start))
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				e.Set(shiftedTo(b, 500, 2+i%50))
				e.Sync()
				i++
			}
		})
	}
}

// BenchmarkTakeover measures the first connects of clients of 200 workloads, with 1000 services as backends, to a
// replica without clients.
func BenchmarkTakeover(b *testing.B) {
	const workloads = 200
	log := slog.New(slog.DiscardHandler)
	d := delivery.New(log, delivery.Class{Name: envoy.Name, Default: true}, func() {})
	e := engine.New(log, []dialect.Dialect{appmesh.Dialect{}}, engine.Settings{}, d.Deliver)
	server := &clientsOf{xds.NewServer(byNode, xds.Options{Observer: d, Logger: log}), "none"}
	d.Connect(e, server)
	d.SetRenderer(envoy.Driver{})
	for _, o := range shiftObjects(b, 1000, workloads) {
		e.Set(o)
	}
	e.Sync()
	b.ReportAllocs()
	for b.Loop() {
		server.prefix = "m/c"
		for i := range workloads {
			d.Connected(workloadOf(i).String())
		}
		server.prefix = "none"
		for i := range workloads {
			d.DropUnused(workloadOf(i))
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N*workloads), "ms/workload")
}
