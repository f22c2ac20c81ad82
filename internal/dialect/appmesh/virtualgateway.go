package appmesh

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// servedGateway is the part of a VirtualGateway that its GatewayRoutes depend on.
type servedGateway struct {
	*nameClaim
	uid types.UID
	// namespaces selects the namespaces of the GatewayRoutes, routes the GatewayRoutes.
	namespaces, routes labels.Selector
	ports              []model.RouterPort
}

// gatewayRule translates VirtualGateways.
type gatewayRule struct {
	translator
	owners    *incremental.Reader[string, meshOwner]
	workloads store.Output[model.Key, model.Workload]
	gateways  *incremental.Emitter[allKey, servedGateway]
	selectors *incremental.Emitter[selectorIndex, selectedWorkload]
}

// addGateways adds the rules for VirtualGateways and GatewayRoutes.
func (r *rules) addGateways(g *incremental.Graph) {
	rule := incremental.NewRule(g, api.KindVirtualGateway)
	eachServed(r, rule, r.gateways, &gatewayRule{
		r.translator(rule), incremental.Reads(rule, r.owners), r.out.EmitsWorkloads(rule),
		incremental.Emits(rule, r.servedGateways),
		incremental.Emits(rule, r.selectors),
	}, (*gatewayRule).virtualGateway)
	rule = incremental.NewRule(g, api.KindGatewayRoute)
	eachServed(r, rule, r.gatewayRoutes, &gatewayRouteRule{
		translator: r.translator(rule), services: r.services.resolver(rule),
		namespaces: incremental.Reads(rule, r.namespaces), gateways: incremental.Reads(rule, r.servedGateways),
		owners: incremental.Reads(rule, r.owners), states: incremental.Emits(rule, r.states),
		attached: incremental.Emits(rule, r.attachedRoutes),
	}, (*gatewayRouteRule).gatewayRoute)
	rule = incremental.NewRule(g, "router of VirtualGateway")
	incremental.Each(rule, r.attachedRoutes, r.out.EmitsRouters(rule),
		func(routers store.Output[model.Key, model.Router], gateway model.Key, all []attachedRoute) {
			var routes []prioritizedRoute
			for _, a := range all {
				routes = append(routes, a.prioritizedRoute)
			}
			routers.Emit(model.Router{Key: gateway, Routes: sortRoutes(routes), Origin: all[0].gateway})
		})
}

// gatewayKey returns the key of the workload and of the router of a VirtualGateway. VirtualNodes and VirtualRouters
// may have the same awsName, but no slash.
func gatewayKey(claim model.Key) model.Key {
	return model.Key{Mesh: claim.Mesh, Name: "virtualGateway/" + claim.Name}
}

// virtualGateway adds the workload of a VirtualGateway.
func (t *gatewayRule) virtualGateway(m *meshMember[*api.VirtualGateway]) {
	spec := m.object.Spec
	t.checkGatewayLimits(m.origin, spec)
	key := gatewayKey(m.key)
	w := model.Workload{
		Key: key, Role: model.RoleGateway, NodeID: nodeID(t.owners, m.key.Mesh, key.Name), Origin: m.origin,
		StatsTags: []model.StatsTag{
			{Name: "appmesh.mesh", Value: m.key.Mesh}, {Name: "appmesh.virtual_gateway", Value: m.key.Name},
		},
	}
	w.ClientPolicy = t.backendDefaults(m.origin, spec.BackendDefaults)
	w.AccessLog = t.accessLog(m.origin, spec.Logging)
	var err error
	if w.TrustedHops, err = dialect.TrustedHops(m.object.Annotations); err != nil {
		t.report(m.origin.At("metadata.annotations"), model.CodeInvalidField, "%v; no proxy is trusted", err)
	}
	for i, l := range spec.Listeners {
		at := m.origin.At(fmt.Sprintf("spec.listeners[%d]", i))
		port, protocol, ok := t.gatewayPort(at, l.PortMapping)
		if !ok {
			continue
		}
		if slices.ContainsFunc(w.Listeners, func(other model.Listener) bool { return other.Port == port }) {
			t.report(at.At(at.Path+".portMapping.port"), model.CodeInvalidField,
				"another listener of this VirtualGateway has the same port %d", port)
			continue
		}
		listener := model.Listener{
			Port: port, Protocol: protocol, Router: key.Name, TLS: t.listenerTLS(at.At(at.Path+".tls"), l.TLS),
			CircuitBreaker: t.circuitBreaker(at, protocol, gatewayPool(l.ConnectionPool)), Origin: at,
		}
		listener.HealthCheck = t.listenerHealthCheck(listener, w.ClientPolicy, l.HealthCheck)
		w.Listeners = append(w.Listeners, listener)
	}
	if len(w.Listeners) == 0 {
		t.warn(m.origin.At("spec.listeners"), model.CodeInvalidField,
			"clients cannot reach a VirtualGateway without listeners")
	}
	t.workloads.Emit(w)
	t.attachRoutes(m, w.Listeners)
	claim := *m.nameClaim
	claim.key = key
	t.selectPods(&claim, m.object)
}

// gatewayPort is portMapping for the protocols of gateways.
func (t *gatewayRule) gatewayPort(at model.Origin, p api.GatewayPortMapping) (uint16, model.Protocol, bool) {
	if p.Protocol == "tcp" {
		t.report(at.At(at.Path+".portMapping.protocol"), model.CodeInvalidField, `"tcp" is not one of grpc, http and http2`)
		return 0, "", false
	}
	return t.portMapping(at, api.PortMapping{Port: p.Port, Protocol: api.PortProtocol(p.Protocol)})
}

// attachRoutes emits what GatewayRoutes need to find their VirtualGateway.
func (t *gatewayRule) attachRoutes(m *meshMember[*api.VirtualGateway], listeners []model.Listener) {
	routes := m.object.Spec.GatewayRouteSelector
	if routes == nil {
		routes = &metav1.LabelSelector{} // this selector matches all if it is absent
	}
	gateway := servedGateway{
		nameClaim: m.nameClaim, uid: m.object.UID,
		namespaces: t.compile(m.object.Spec.NamespaceSelector, m.origin.At("spec.namespaceSelector")),
		routes:     t.compile(routes, m.origin.At("spec.gatewayRouteSelector")),
	}
	for _, l := range listeners {
		gateway.ports = append(gateway.ports, model.RouterPort{Port: l.Port, Protocol: l.Protocol, Origin: l.Origin})
	}
	t.gateways.Emit(allKey{}, gateway)
}

// selectPods emits the selector of the pods.
func (t *gatewayRule) selectPods(claim *nameClaim, o *api.VirtualGateway) {
	selector := o.Spec.PodSelector
	if selector == nil {
		return // selects nothing
	}
	t.selectors.Emit(indexOf(claim.origin.Object().Namespace, selector), selectedWorkload{
		nameClaim: claim, gateway: true, selector: t.compile(selector, claim.origin.At("spec.podSelector")),
		identities: t.settings.identitiesOfGateway(o),
	})
}
