package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

const (
	meshName  = "bench"
	namespace = "bench"
	port      = 8080
	routeType = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
)

// targets are the VirtualNodes of a service. Their pods have addresses in 10.2.0.0/16 and 10.3.0.0/16.
var targets = [2]string{"a", "b"}

func serviceName(i int) string { return fmt.Sprintf("service-%05d", i) }
func clientName(i int) string  { return fmt.Sprintf("client-%03d", i) }

// mesh is a control plane without an API server.
type mesh struct {
	engine *engine.Engine
	server *xds.Server
	acks   acks
}

func newMesh(o options) *mesh {
	log := slog.New(slog.DiscardHandler)
	d := delivery.New(log, delivery.Class{Name: envoy.Name, Default: true}, func() {})
	m := &mesh{acks: acks{Deliverer: d}}
	m.engine = engine.New(log, []dialect.Dialect{appmesh.Dialect{}}, engine.Settings{}, d.Deliver)
	m.server = xds.NewServer(func(_ context.Context, _ xds.Peer, n *corev3.Node) (xds.Grant, error) {
		workload := strings.TrimPrefix(n.GetId(), "mesh/"+meshName+"/virtualNode/")
		return xds.Grant{Key: model.Key{Mesh: meshName, Name: workload}.String(), Identity: n.GetId()}, nil
	}, xds.Options{Observer: &m.acks, Logger: log})
	d.Connect(m.engine, m.server)
	d.SetRenderer(envoy.Driver{})
	m.create(o)
	return m
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}
}

func (m *mesh) create(o options) {
	filter := &api.EgressFilter{Type: api.EgressFilterType(o.egress)}
	m.engine.Set(&api.Mesh{
		ObjectMeta: metav1.ObjectMeta{Name: meshName},
		Spec:       api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}, EgressFilter: filter},
	})
	var backends []api.Backend
	for i := range o.services {
		for t := range targets {
			m.createTarget(i, t)
		}
		name := serviceName(i)
		router := &api.VirtualRouterServiceProvider{VirtualRouterRef: &api.VirtualRouterReference{Name: name}}
		m.engine.Set(&api.VirtualService{ObjectMeta: meta(name), Spec: api.VirtualServiceSpec{
			Provider: &api.VirtualServiceProvider{VirtualRouter: router},
		}})
		m.route(i, 0)
		backends = append(backends, api.Backend{VirtualService: api.VirtualServiceBackend{
			VirtualServiceRef: &api.VirtualServiceReference{Name: name},
		}})
	}
	for i := range o.sidecars {
		name := clientName(i)
		m.engine.Set(&api.VirtualNode{ObjectMeta: meta(name), Spec: api.VirtualNodeSpec{
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Backends: backends,
		}})
	}
	m.engine.Sync()
}

// createTarget creates a VirtualNode of a service with one pod.
func (m *mesh) createTarget(service, target int) {
	name := serviceName(service) + "-" + targets[target]
	labels := map[string]string{"app": name}
	m.engine.Set(&api.VirtualNode{ObjectMeta: meta(name), Spec: api.VirtualNodeSpec{
		PodSelector: &metav1.LabelSelector{MatchLabels: labels},
		Listeners:   []api.Listener{{PortMapping: api.PortMapping{Port: port, Protocol: "http"}}},
		ServiceDiscovery: &api.ServiceDiscovery{
			AWSCloudMap: &api.AWSCloudMapServiceDiscovery{NamespaceName: "bench", ServiceName: name},
		},
	}})
	address := fmt.Sprintf("10.%d.%d.%d", 2+target, service/250, service%250+1)
	pod := &corev1.Pod{ObjectMeta: meta(name), Status: corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}}
	pod.Labels = labels
	m.engine.Set(pod)
}

// route sends all requests of a service to one of its targets.
func (m *mesh) route(service, target int) {
	name, prefix := serviceName(service), "/"
	var weighted []api.WeightedTarget
	for t := range targets {
		weight := int64(0)
		if t == target {
			weight = 100
		}
		weighted = append(weighted, api.WeightedTarget{
			VirtualNodeRef: &api.VirtualNodeReference{Name: name + "-" + targets[t]}, Weight: weight,
		})
	}
	m.engine.Set(&api.VirtualRouter{ObjectMeta: meta(name), Spec: api.VirtualRouterSpec{
		Listeners: []api.VirtualRouterListener{{PortMapping: api.PortMapping{Port: port, Protocol: "http"}}},
		Routes: []api.Route{{Name: "r", HTTPRoute: &api.HTTPRoute{
			Match: api.HTTPRouteMatch{Prefix: &prefix}, Action: api.RouteAction{WeightedTargets: weighted},
		}}},
	}})
}

// serve serves sidecars until the context ends.
func (m *mesh) serve(ctx context.Context, l net.Listener) { _ = m.server.Serve(ctx, l) }

// acks observes the ACKs of routes.
type acks struct {
	*delivery.Deliverer

	mu       sync.Mutex
	missing  int
	last     time.Time
	acked    map[string]bool
	rejected []string
}

// await starts to wait for an ACK of each of so many sidecars.
func (a *acks) await(sidecars int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.missing, a.acked = sidecars, map[string]bool{}
}

// done returns the time of the last ACK, and whether all sidecars have sent one.
func (a *acks) done() (time.Time, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.rejected) > 0 {
		return a.last, false, fmt.Errorf("Envoy rejects its configuration: %s", strings.Join(a.rejected, "; "))
	}
	return a.last, a.missing == 0, nil
}

// Acked implements xds.Observer.
func (a *acks) Acked(key, identity, typeURL, version string, rejected map[string]string) {
	if typeURL == routeType && len(rejected) == 0 {
		a.mu.Lock()
		if !a.acked[identity] && a.acked != nil {
			a.acked[identity] = true
			a.missing--
			a.last = time.Now()
		}
		a.mu.Unlock()
	}
	a.Deliverer.Acked(key, identity, typeURL, version, rejected)
}

// Nacked implements xds.Observer.
func (a *acks) Nacked(key, identity, typeURL string, rejected map[string]string, message string) {
	a.mu.Lock()
	a.rejected = append(a.rejected, typeURL+": "+message)
	a.mu.Unlock()
	a.Deliverer.Nacked(key, identity, typeURL, rejected, message)
}
