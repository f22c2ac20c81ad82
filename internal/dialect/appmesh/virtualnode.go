package appmesh

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// nodeRule translates VirtualNodes.
type nodeRule struct {
	translator
	clusterServices *incremental.Reader[types.NamespacedName, *corev1.Service]
	servicesKnown   *incremental.Reader[allKey, bool]
	owners          *incremental.Reader[string, meshOwner]
	backendLists    *incremental.Emitter[backendsKey, *backendList]
	withBackends    *incremental.Emitter[model.Key, nodeWorkload]
	workloads       store.Output[model.Key, model.Workload]
	served          store.Output[model.Key, model.Destination]
	ports           *incremental.Emitter[model.Key, nodePort]
	selectors       *incremental.Emitter[selectorIndex, selectedWorkload]
	registry        *incremental.Emitter[cloudMapService, cloudMapQuery]
}

// addNodes adds the rule for VirtualNodes.
func (r *rules) addNodes(g *incremental.Graph) {
	rule := incremental.NewRule(g, api.KindVirtualNode)
	eachServed(r, rule, r.nodes, &nodeRule{
		translator:      r.translator(rule),
		clusterServices: incremental.Reads(rule, r.clusterServices),
		servicesKnown:   incremental.Reads(rule, r.servicesKnown),
		owners:          incremental.Reads(rule, r.owners),
		backendLists:    incremental.Emits(rule, r.backendLists),
		withBackends:    incremental.Emits(rule, r.nodeWorkloads),
		workloads:       r.out.EmitsWorkloads(rule),
		served:          r.out.EmitsDestinations(rule),
		ports:           incremental.Emits(rule, r.ports),
		selectors:       incremental.Emits(rule, r.selectors),
		registry:        incremental.Emits(rule, r.registry),
	}, (*nodeRule).virtualNode)
}

// virtualNode adds the workload of a VirtualNode, and a destination for each reachable listener.
func (t *nodeRule) virtualNode(m *meshMember[*api.VirtualNode]) {
	t.checkLimits(m)
	w := model.Workload{
		Key: m.key, Role: model.RoleSidecar, NodeID: nodeID(t.owners, m.key.Mesh, "virtualNode/"+m.key.Name),
		Origin: m.origin,
		StatsTags: []model.StatsTag{
			{Name: "appmesh.mesh", Value: m.key.Mesh}, {Name: "appmesh.virtual_node", Value: m.key.Name},
		},
	}
	w.ClientPolicy = t.backendDefaults(m.origin, m.object.Spec.BackendDefaults)
	w.AccessLog = t.accessLog(m.origin, m.object.Spec.Logging)
	var specs []api.Listener // of w.Listeners
	for i, l := range m.object.Spec.Listeners {
		at := m.origin.At(t.paths.shared(fmt.Sprintf("spec.listeners[%d]", i)))
		port, protocol, ok := t.portMapping(at, l.PortMapping)
		if !ok {
			continue
		}
		if slices.ContainsFunc(w.Listeners, func(other model.Listener) bool { return other.Port == port }) {
			t.report(at.At(at.Path+".portMapping.port"), model.CodeInvalidField,
				"another listener of this VirtualNode has the same port %d", port)
			continue
		}
		specs = append(specs, l)
		w.Listeners = append(w.Listeners, model.Listener{
			Port: port, Protocol: protocol, TLS: t.nodeTLS(at.At(at.Path+".tls"), l.TLS),
			CircuitBreaker: t.circuitBreaker(at, protocol, l.ConnectionPool),
			Timeouts:       t.listenerTimeouts(at, protocol, l.Timeout), Origin: at,
		})
	}
	t.destinations(m, w.Listeners, specs)
	t.workload(m, w)
	t.selector(m)
	t.register(m)
}

// workload adds the workload. If the VirtualNode has backends, they are resolved once for all with the same.
func (t *nodeRule) workload(m *meshMember[*api.VirtualNode], w model.Workload) {
	spec := m.object.Spec
	if len(spec.Backends)+len(spec.BackendGroups) == 0 {
		t.workloads.Emit(w)
		return
	}
	list := &backendList{m.key.Mesh, m.object.Namespace, spec.Backends, spec.BackendGroups}
	key := list.key()
	t.backendLists.Emit(key, list)
	t.withBackends.Emit(m.key, nodeWorkload{w, key})
}

// portMapping repeats checks of the schema, for objects that are not from an API server.
func (t *translator) portMapping(at model.Origin, p api.PortMapping) (uint16, model.Protocol, bool) {
	protocol := model.Protocol(p.Protocol)
	switch {
	case p.Port < 1 || p.Port > 65535:
		t.report(at.At(at.Path+".portMapping.port"), model.CodeInvalidField, "%d is not between 1 and 65535", p.Port)
	case protocol != model.HTTP && protocol != model.HTTP2 && protocol != model.GRPC && protocol != model.TCP:
		t.report(at.At(at.Path+".portMapping.protocol"), model.CodeInvalidField, "%q is not one of grpc, http, http2 and tcp",
			p.Protocol)
	default:
		return uint16(p.Port), protocol, true
	}
	return 0, "", false
}

// listenerTimeouts returns the timeouts for the listener's protocol. Timeouts for other protocols have no effect.
func (t *translator) listenerTimeouts(at model.Origin, protocol model.Protocol, l *api.ListenerTimeout) model.Timeouts {
	if l == nil {
		l = &api.ListenerTimeout{}
	}
	for _, other := range []struct {
		protocol model.Protocol
		set      bool
	}{{model.HTTP, l.HTTP != nil}, {model.HTTP2, l.HTTP2 != nil}, {model.GRPC, l.GRPC != nil}, {model.TCP, l.TCP != nil}} {
		if other.set && other.protocol != protocol {
			t.warn(at.At(at.Path+".timeout."+string(other.protocol)), model.CodeInvalidField,
				"has no effect: the protocol of the listener is %s", protocol)
		}
	}
	switch protocol {
	case model.HTTP:
		return requestTimeouts(l.HTTP)
	case model.HTTP2:
		return requestTimeouts(l.HTTP2)
	case model.GRPC:
		return requestTimeouts(l.GRPC)
	}
	return streamTimeouts(l.TCP)
}

// destinations adds a destination for each listener. Users know their names from proxy metrics.
func (t *nodeRule) destinations(m *meshMember[*api.VirtualNode], listeners []model.Listener, specs []api.Listener) {
	if len(listeners) == 0 {
		return
	}
	found, ok := t.discovery(m)
	if !ok {
		return
	}
	for i, l := range listeners {
		d := model.Destination{
			Key:      model.Key{Mesh: m.key.Mesh, Name: fmt.Sprintf("%s_%s_%d", m.key.Name, l.Protocol, l.Port)},
			Workload: m.key.Name, Port: l.Port, Protocol: l.Protocol, Discovery: found,
			TLS: originatedTLS(l, found), Origin: l.Origin,
		}
		t.setHealth(&d, specs[i])
		t.ports.Emit(m.key, nodePort{t.served.Emit(d), l.Timeouts, i})
	}
}

// discovery returns the discovery of a VirtualNode. It reports false if clients cannot reach the VirtualNode.
func (t *nodeRule) discovery(m *meshMember[*api.VirtualNode]) (model.Discovery, bool) {
	sd := m.object.Spec.ServiceDiscovery
	switch {
	case sd == nil || sd.DNS == nil && sd.AWSCloudMap == nil:
		t.report(m.origin.At("spec.serviceDiscovery"), model.CodeInvalidField,
			"required for a VirtualNode with listeners: without it, clients cannot reach them")
		return model.Discovery{}, false
	case sd.DNS == nil:
		return t.discoverCloudMap(m)
	case sd.AWSCloudMap != nil:
		t.warn(m.origin.At("spec.serviceDiscovery.awsCloudMap"), model.CodeInvalidField,
			"has no effect: serviceDiscovery.dns takes precedence")
	}
	at := m.origin.At("spec.serviceDiscovery.dns.hostname")
	host := strings.TrimSuffix(sd.DNS.Hostname, ".")
	if len(host) > 253 || !hostName.MatchString(host) {
		t.report(at, model.CodeInvalidField, "%q is not a host name", sd.DNS.Hostname)
		return model.Discovery{}, false
	}
	t.checkHostname(m, at, host)
	kind := model.DiscoverDNS
	switch deref(sd.DNS.ResponseType) {
	case api.DNSEndpoints:
		kind = model.DiscoverDNSEndpoints
	case api.DNSLoadBalancer, "":
	default:
		t.report(m.origin.At("spec.serviceDiscovery.dns.responseType"), model.CodeInvalidField,
			"%q is neither ENDPOINTS nor LOADBALANCER; LOADBALANCER is used", *sd.DNS.ResponseType)
	}
	return model.Discovery{Kind: kind, Hostname: host}, true
}
