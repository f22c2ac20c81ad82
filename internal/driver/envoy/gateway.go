package envoy

import (
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

// A gateway routes a request twice. The routes of its listener select a service and rewrite the request, and send it to
// an internal listener of the same Envoy for the port of the service. There the routes of the service apply, which are
// the resources that sidecars have, too: a change of a service is the same small change for all. No other pod can
// connect to an internal listener. See docs/decisions/0010-gateways-route-twice.md.

// gateway renders a listener for each listener of a gateway, with its routes.
func (r *renderer) gateway() {
	clusters := map[string]bool{}
	for _, in := range r.view.Inbound {
		l := in.Listener
		if l.Protocol == model.TCP && l.Router != "" {
			r.streamListener(in)
			continue
		}
		if l.Port == 0 || l.Protocol == model.WebSocket || !l.Protocol.Requests() {
			continue // reported as unsupported features
		}
		manager := newGatewayConnectionManager(r.view.Workload)
		if l.Router == "" {
			manager.RouteSpecifier = scopesByHost(l.Port)
			manager.HttpFilters = slices.Concat(selectScope(), []*hcmv3.HttpFilter{clientsFilter()}, manager.HttpFilters)
			r.firstScope(l)
		} else {
			manager.RouteSpecifier = routesByName(ingressRoutes(l))
			r.add(ingressRoutes(l), r.listenerRoutes(in), routeOrigins(l.Origin, in.Routes)...)
		}
		name := gatewayListener(l)
		chain := &listenerv3.FilterChain{Name: name, Filters: []*listenerv3.Filter{httpFilter(manager)}}
		listener := &listenerv3.Listener{
			Name:                          name,
			Address:                       socketAddress("0.0.0.0", uint32(l.Port)),
			AdditionalAddresses:           r.driver.additionalAddresses(uint32(l.Port)),
			FilterChains:                  r.withTLS(l, chain),
			PerConnectionBufferLimitBytes: wrapperspb.UInt32(gatewayBufferLimit),
			TrafficDirection:              corev3.TrafficDirection_INBOUND,
		}
		if l.TLS != nil && (l.TLS.Mode == model.TLSPermissive || len(l.TLS.Hosts) > 0) {
			listener.ListenerFilters = []*listenerv3.ListenerFilter{tlsInspector(uint32(l.Port))}
		}
		r.add(name, listener, l.Origin)
		r.addHealthCheck(l)
		for _, route := range in.Routes {
			target := route.Action.Service
			if target == nil {
				continue
			}
			if cluster := redirectCluster(r.view.Workload, l, target.Port); !clusters[cluster] {
				clusters[cluster] = true
				r.add(cluster, internalCluster(cluster, internalListener(target.Port), l), l.Origin)
			}
		}
	}
}

// noHost is the host name of a scope without routes. No host has a name below "invalid" (RFC 6761, section 6.4).
const noHost = "anymesh.invalid"

// firstScope adds a scope without routes. A listener whose collection has no scope never becomes ready.
func (r *renderer) firstScope(l model.Listener) {
	r.scopedRoutes(l.Port, model.Binding{
		Service: noHost, Hosts: []string{noHost}, Protocol: l.Protocol, External: true, Origin: l.Origin,
	})
}

// routeOrigins returns the origins of a listener and its routes, each once.
func routeOrigins(listener model.Origin, routes []model.Route) []model.Origin {
	out := []model.Origin{listener}
	for _, route := range routes {
		out = append(out, route.Origin)
	}
	slices.SortFunc(out, model.Origin.Compare)
	return slices.CompactFunc(out, model.Origin.Equal)
}

// listenerRoutes renders a virtual host for each host name of the routes, and one for all other hosts. Envoy
// selects the most specific one. Each has all routes that match its hosts, in order.
func (r *renderer) listenerRoutes(in model.Inbound) *routev3.RouteConfiguration {
	config := &routev3.RouteConfiguration{Name: ingressRoutes(in.Listener), IgnorePortInHostMatching: true}
	rendered := make([]*routev3.Route, len(in.Routes))
	for i, route := range in.Routes {
		rendered[i] = r.inboundRoute(in.Listener, route)
	}
	for _, domain := range gatewayDomains(in.Routes) {
		host := &routev3.VirtualHost{Name: domain, Domains: []string{domain}}
		for i, route := range in.Routes {
			if rendered[i] != nil && matchesDomain(route.Match.Hosts, domain) {
				host.Routes = append(host.Routes, rendered[i])
			}
		}
		config.VirtualHosts = append(config.VirtualHosts, host)
	}
	return config
}

const anyHost = "*"

// gatewayDomains returns the distinct host names of the routes in lower case, sorted, and anyHost.
func gatewayDomains(routes []model.Route) []string {
	out := []string{anyHost}
	for _, route := range routes {
		for _, h := range route.Match.Hosts {
			out = append(out, strings.ToLower(h))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// matchesDomain reports whether a route with these host names matches the requests of a virtual host: the requests for
// a domain, without those for more specific domains. Both may begin with "*", which stands for one character or more.
func matchesDomain(hosts []string, domain string) bool {
	suffix, wildcard := strings.CutPrefix(domain, "*")
	return len(hosts) == 0 || slices.ContainsFunc(hosts, func(h string) bool {
		h = strings.ToLower(h)
		if end, is := strings.CutPrefix(h, "*"); is {
			return strings.HasSuffix(suffix, end) && (wildcard || len(suffix) > len(end))
		}
		return h == domain
	})
}

// originalHostHeader has the host name that the request is forwarded with, if it is not that of the service. Envoy
// selects the routes of the service by its host name.
const originalHostHeader = "x-anymesh-host"

// inboundRoute renders a route of a gateway; nil for an invalid one, which has a finding. Without a target it answers
// 404. The timeouts are those of the routes of the service.
func (r *renderer) inboundRoute(l model.Listener, route model.Route) *routev3.Route {
	match := route.Match
	match.Hosts = nil // the virtual host matches them
	if fault := unsupportedMatch(match); fault != "" {
		r.skipRoute(route, fault)
		return nil
	}
	out := &routev3.Route{Name: route.Name, Match: routeMatch(match), StatPrefix: routeStats(route.Name)}
	target := route.Action.Service
	if target == nil && len(route.Action.Destinations) > 0 {
		return r.toDestinations(out, route)
	}
	if target == nil {
		out.Action = &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 404}}
		return out
	}
	action := &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{
		Cluster: redirectCluster(r.view.Workload, l, target.Port),
	}}
	setTimeouts(action, model.Timeouts{})
	setRewrite(action, route.Action.Rewrite, route.Match)
	out.RequestHeadersToAdd = setHeaders(route.Action.Rewrite)
	action.HostRewriteSpecifier = &routev3.RouteAction_HostRewriteLiteral{HostRewriteLiteral: target.Service}
	forwarded := "%REQ(:AUTHORITY)%"
	if w := route.Action.Rewrite; w != nil && w.Host != "" {
		forwarded = strings.ReplaceAll(w.Host, "%", "%%")
	}
	if forwarded == target.Service {
		out.RequestHeadersToRemove = []string{originalHostHeader}
	} else {
		out.RequestHeadersToAdd = append(out.RequestHeadersToAdd, &corev3.HeaderValueOption{
			Header:       &corev3.HeaderValue{Key: originalHostHeader, Value: forwarded},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		})
	}
	out.Action = &routev3.Route_Route{Route: action}
	if err := out.Validate(); err != nil {
		r.skipRoute(route, rootCause(err))
		return nil
	}
	return out
}

// internalCluster is the cluster of an internal listener for requests of a listener of the gateway.
func internalCluster(name, listener string, l model.Listener) *clusterv3.Cluster {
	address := &corev3.Address{Address: &corev3.Address_EnvoyInternalAddress{
		EnvoyInternalAddress: &corev3.EnvoyInternalAddress{
			AddressNameSpecifier: &corev3.EnvoyInternalAddress_ServerListenerName{ServerListenerName: listener},
		},
	}}
	return &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		ConnectTimeout:       durationpb.New(applicationConnectTimeout),
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: name,
			Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: address}},
			}}}},
		},
		CircuitBreakers:               circuitBreakers(l.CircuitBreaker),
		TypedExtensionProtocolOptions: protocolOptions(l.Protocol),
	}
}

// internalListeners renders, for a gateway, an internal listener for each port with services that take requests.
func (r *renderer) internalListeners() {
	for _, out := range r.view.Outbound {
		if !takesRequests(out) || slices.Contains(r.view.ListenerPorts, out.Port) {
			continue
		}
		manager := r.requestManager(out)
		// The routes of the gateway are the only client. It closes idle connections, so that no request meets one that
		// is being closed.
		manager.CommonHttpProtocolOptions = &corev3.HttpProtocolOptions{IdleTimeout: durationpb.New(0)}
		last := len(manager.HttpFilters) - 1
		manager.HttpFilters = slices.Insert(manager.HttpFilters, last, restoreHost())
		name := internalListener(out.Port)
		r.add(name, &listenerv3.Listener{
			Name: name,
			ListenerSpecifier: &listenerv3.Listener_InternalListener{
				InternalListener: &listenerv3.Listener_InternalListenerConfig{},
			},
			FilterChains: []*listenerv3.FilterChain{{
				Name: egressRoutes(out.Port), Filters: []*listenerv3.Filter{httpFilter(manager)},
			}},
			TrafficDirection: corev3.TrafficDirection_OUTBOUND,
		}, bindingOrigins(out.Bindings...)...)
	}
}
