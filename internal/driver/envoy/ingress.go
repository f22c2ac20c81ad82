package envoy

import (
	"slices"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// ingress renders the listener for captured inbound connections, with a filter chain for each of the workload's ports.
// A workload without listeners has none.
func (r *renderer) ingress() {
	var chains []*listenerv3.FilterChain
	var origins []model.Origin
	var inspected []uint32
	detection := detectionTimeout
	authorize := r.view.Workload.Authorize
	everywhere := authorize
	for _, in := range r.view.Inbound {
		l := in.Listener
		if l.Port == 0 {
			continue // reported as an unsupported feature
		}
		if l.Router != "" {
			r.findings = append(r.findings, model.NewFinding(l.Origin, model.CodeNotSupported,
				"driver envoy does not support listeners of sidecars with routes; the listener is not served"))
			continue
		}
		l, allowed := r.view.StreamListener(l)
		cluster := ingressCluster(r.view.Workload, l)
		r.add(cluster, applicationCluster(r.view.Mesh, cluster, l), l.Origin)
		chain := &listenerv3.FilterChain{
			Name:             cluster,
			FilterChainMatch: &listenerv3.FilterChainMatch{DestinationPort: wrapperspb.UInt32(uint32(l.Port))},
		}
		if l.Protocol.Requests() {
			routes := ingressRouteConfig(l, cluster)
			manager := newHTTPConnectionManager("ingress", r.view.Workload.AccessLog)
			manager.RouteSpecifier = routesByName(ingressRoutes(l))
			origins := []model.Origin{l.Origin}
			if authorize {
				addAuthorization(manager, routes, r.requestRules(l))
				origins = append(origins, r.policyOrigins(l)...)
			}
			if authorize || len(l.RequestRates) > 0 {
				addRequestRates(l, manager, routes)
			}
			r.add(ingressRoutes(l), routes, origins...)
			chain.Filters = []*listenerv3.Filter{httpFilter(manager)}
		} else if allowed {
			chain.Filters = []*listenerv3.Filter{
				tcpProxy("ingress", cluster, l.Timeouts.Idle, r.view.Workload.AccessLog),
			}
		}
		chain.Filters = connectionRate(l, chain.Filters)
		chains = append(chains, r.withTLS(l, chain)...)
		origins = append(origins, l.Origin)
		strict := l.TLS != nil && l.TLS.Mode == model.TLSStrict
		everywhere = everywhere && strict
		if l.TLS != nil && (!strict || authorize) {
			inspected = append(inspected, uint32(l.Port))
			if !strict && !l.Protocol.Requests() {
				detection = streamDetectionTimeout
			}
		}
	}
	if len(chains) == 0 {
		return
	}
	listener := r.driver.capturedListener(ingressListener, sidecar.InboundPort, chains)
	if len(inspected) > 0 {
		if everywhere {
			inspected = nil // a change of the ports does not change the filter, which would drain all connections
		}
		listener.ListenerFilters = append(listener.ListenerFilters, tlsInspector(inspected...))
		listener.ListenerFiltersTimeout = durationpb.New(detection)
		listener.ContinueOnListenerFiltersTimeout = true
	}
	r.add(ingressListener, listener, origins...)
}

// detectionTimeout is how long a permissive listener waits for the first bytes of the client. A client that sends none
// until then waits for the server to send first, and does not use TLS. In HTTP, the client sends first; the server may
// be the first on a stream, and then the client waits for this time.
const (
	detectionTimeout       = 5 * time.Second
	streamDetectionTimeout = time.Second
)

// withTLS returns the filter chains of a listener: one for TLS, one for connections without TLS, or both. A chain
// without filters closes connections.
func (r *renderer) withTLS(l model.Listener, chain *listenerv3.FilterChain) []*listenerv3.FilterChain {
	if l.TLS == nil {
		return []*listenerv3.FilterChain{chain}
	}
	secured := &listenerv3.FilterChain{
		Name: chain.Name + "_tls", Filters: chain.Filters,
		FilterChainMatch: &listenerv3.FilterChainMatch{DestinationPort: chain.GetFilterChainMatch().GetDestinationPort()},
	}
	hosts := r.hostChains(l, secured)
	if l.TLS.Certificate == nil {
		secured.Filters = nil
	} else {
		var secrets []sidecar.Resource
		secured.TransportSocket, secrets = r.serverSocket(l, *l.TLS.Certificate, l.TLS.Origin)
		r.addSecrets(secrets)
	}
	if l.TLS.Mode == model.TLSStrict {
		return append(hosts, r.withIngress(l, chain, secured)...)
	}
	secured.FilterChainMatch.TransportProtocol = "tls"
	return append(hosts, secured, chain)
}

// hostChains returns a filter chain for each certificate for host names, like the one for all other TLS connections.
func (r *renderer) hostChains(l model.Listener, secured *listenerv3.FilterChain) []*listenerv3.FilterChain {
	var out []*listenerv3.FilterChain
	for _, h := range l.TLS.Hosts {
		socket, secrets := r.serverSocket(l, h.Certificate, h.Origin)
		r.addSecrets(secrets)
		out = append(out, &listenerv3.FilterChain{
			Name: secured.Name + "_" + h.Hosts[0], Filters: secured.Filters, TransportSocket: socket,
			FilterChainMatch: &listenerv3.FilterChainMatch{
				DestinationPort: secured.FilterChainMatch.DestinationPort, ServerNames: h.Hosts, TransportProtocol: "tls",
			},
		})
	}
	return out
}

// addSecrets adds secrets, which several listeners may share.
func (r *renderer) addSecrets(secrets []sidecar.Resource) {
	for _, s := range secrets {
		i := slices.IndexFunc(r.resources, func(o sidecar.Resource) bool { return o.Type == s.Type && o.Name == s.Name })
		if i < 0 {
			r.resources = append(r.resources, s)
		} else if !slices.ContainsFunc(r.resources[i].Origins, s.Origins[0].Equal) {
			r.resources[i].Origins = append(r.resources[i].Origins, s.Origins[0])
		}
	}
}

// ingressRouteConfig routes every request to the application.
func ingressRouteConfig(l model.Listener, cluster string) *routev3.RouteConfiguration {
	action := &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster}}
	setTimeouts(action, l.Timeouts)
	return &routev3.RouteConfiguration{
		Name: ingressRoutes(l),
		VirtualHosts: []*routev3.VirtualHost{{
			Name:    "ingress",
			Domains: []string{"*"},
			Routes: []*routev3.Route{{
				Name:   "application",
				Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
				Action: &routev3.Route_Route{Route: action},
			}},
		}},
	}
}
