package envoy

import (
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

// Routes of a listener of a gateway may have destinations of their own. No service is between, so that a request is
// routed once.

// inboundDestination finds the destinations of inbound routes. Destinations that do not exist are left out of routes,
// and those of inbound routes have no workload, so that the name is enough for the cluster.
func inboundDestination(mesh model.Mesh) func(name string) (model.Destination, bool) {
	return func(name string) (model.Destination, bool) {
		return model.Destination{Key: model.Key{Mesh: mesh.Name, Name: name}}, true
	}
}

// streamListener renders a listener of a gateway for streams: they go to the destinations of the first route. A route
// with a condition is left out, because streams have no criteria. Without destinations, connections are closed.
func (r *renderer) streamListener(in model.Inbound) {
	l := in.Listener
	name := gatewayListener(l)
	chain := &listenerv3.FilterChain{Name: name}
	for _, route := range in.Routes {
		if fault := unsupportedMatch(route.Match); fault != "" {
			r.skipRoute(route, fault)
			continue
		}
		if action := route.Action; !r.refused(route) {
			if cluster, weighted := r.targets(action); cluster != "" || len(weighted) > 0 {
				proxy := newTCPProxy("ingress", cluster, weighted, action.Timeouts.Idle, r.view.Workload.AccessLog)
				if slices.Contains(action.Retry.Conditions, model.RetryConnectFailure) {
					proxy.MaxConnectAttempts = wrapperspb.UInt32(1 + action.Retry.Retries)
				}
				chain.Filters = []*listenerv3.Filter{tcpFilter(proxy)}
			}
		}
		break
	}
	r.add(name, &listenerv3.Listener{
		Name:                          name,
		Address:                       socketAddress("0.0.0.0", uint32(l.Port)),
		AdditionalAddresses:           r.driver.additionalAddresses(uint32(l.Port)),
		FilterChains:                  r.withTLS(l, chain),
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(gatewayBufferLimit),
		TrafficDirection:              corev3.TrafficDirection_INBOUND,
	}, routeOrigins(l.Origin, in.Routes)...)
}

// refused reports whether Envoy cannot forward the traffic of a route: it has to pass other destinations, and must not
// pass beside them, or its destination speaks another protocol.
func (r *renderer) refused(route model.Route) bool {
	switch a := route.Action; {
	case len(a.ForwardChain)+len(a.ReverseChain) > 0:
		r.skipRoute(route, "its traffic passes a chain of destinations")
	case a.Convert:
		r.skipRoute(route, "its destination speaks another protocol")
	default:
		return false
	}
	return true
}

// toDestinations completes a route to destinations; nil for an invalid one, which has a finding.
func (r *renderer) toDestinations(out *routev3.Route, route model.Route) *routev3.Route {
	if r.refused(route) {
		out.Action = &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 404}}
		return out
	}
	r.setAction(out, route)
	if err := out.Validate(); err != nil {
		r.skipRoute(route, rootCause(err))
		return nil
	}
	return out
}
