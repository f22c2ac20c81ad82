package envoy

import (
	"net/netip"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// egress renders the listener for captured outbound connections, with a filter chain for each port, or, for TCP
// services with addresses, for each port and address.
func (r *renderer) egress() {
	var chains []*listenerv3.FilterChain
	var origins []model.Origin
	for _, out := range r.view.Outbound {
		if takesRequests(out) {
			chains = append(chains, r.requestFilterChain(out))
		}
		for _, b := range out.Bindings {
			if b.Protocol == model.TCP {
				chains = append(chains, r.tcpFilterChains(out.Port, b)...)
				origins = append(origins, bindingOrigins(b)...)
			}
		}
	}
	passed, inspected := r.passedChains()
	listener := r.driver.capturedListener(egressListener, sidecar.OutboundPort, append(chains, passed...))
	mesh := r.view.Mesh
	if len(inspected) > 0 {
		listener.ListenerFilters = append(listener.ListenerFilters, tlsInspector(inspected...))
		listener.ListenerFiltersTimeout = durationpb.New(streamDetectionTimeout)
		listener.ContinueOnListenerFiltersTimeout = true
	}
	if mesh.Egress == model.EgressAllow {
		r.addAllowAllCluster()
		listener.DefaultFilterChain = &listenerv3.FilterChain{
			Name:    "allow-all",
			Filters: []*listenerv3.Filter{tcpProxy("egress", allowAllCluster(mesh.Name), 0, r.view.AccessLog)},
		}
	} else if len(mesh.EgressNames) > 0 && !r.hasOutboundPort(model.EgressNamesPort) {
		r.add(egressNamesCluster(mesh.Name), egressNamesForwarder(mesh), mesh.Origin)
		listener.FilterChains = append(listener.FilterChains, &listenerv3.FilterChain{
			Name: "egress-names",
			FilterChainMatch: &listenerv3.FilterChainMatch{
				DestinationPort: wrapperspb.UInt32(model.EgressNamesPort), ServerNames: mesh.EgressNames,
				TransportProtocol: "tls",
			},
			Filters: []*listenerv3.Filter{
				resolveServerName(mesh), tcpProxy("egress", egressNamesCluster(mesh.Name), 0, r.view.AccessLog),
			},
		})
		listener.ListenerFilters = append(listener.ListenerFilters, tlsInspector(model.EgressNamesPort))
	}
	if len(listener.FilterChains) == 0 && listener.DefaultFilterChain == nil {
		// A listener needs a filter chain; a chain without filters closes every connection.
		listener.DefaultFilterChain = &listenerv3.FilterChain{Name: "nothing-declared"}
	}
	r.add(egressListener, listener, append(origins, r.view.Workload.Origin)...)
}

func (r *renderer) hasOutboundPort(port uint16) bool {
	return slices.ContainsFunc(r.view.Outbound, func(o model.Outbound) bool { return o.Port == port })
}

func takesRequests(out model.Outbound) bool {
	return slices.ContainsFunc(out.Bindings, func(b model.Binding) bool { return b.Protocol.Requests() })
}

// requestFilterChain renders the filter chain for requests on a port.
func (r *renderer) requestFilterChain(out model.Outbound) *listenerv3.FilterChain {
	return &listenerv3.FilterChain{
		Name: egressRoutes(out.Port), FilterChainMatch: matchDestination(out.Port, out.RequestAddresses()),
		Filters: []*listenerv3.Filter{httpFilter(r.requestManager(out))},
	}
}

// requestManager renders the connection manager for requests on a port, whose services have scopes.
func (r *renderer) requestManager(out model.Outbound) *hcmv3.HttpConnectionManager {
	manager := newHTTPConnectionManager("egress", r.view.AccessLog)
	manager.RouteSpecifier = scopesByHost(out.Port)
	manager.HttpFilters = append(selectScope(), manager.HttpFilters...)
	if r.view.Mesh.Egress == model.EgressAllow && !r.view.Gateway { // the routes of a gateway name services only
		r.undeclaredRoutes(out.Port)
	}
	return manager
}

func (r *renderer) virtualHost(port uint16, b model.Binding) *routev3.VirtualHost {
	out := &routev3.VirtualHost{Name: b.Service, Domains: domains(b.Hosts, port), Routes: r.routes(b)}
	if b.External {
		out.Domains = b.Hosts
	}
	return out
}

// tcpFilterChains renders the filter chains of a TCP service: those of its pods, and the one for its addresses.
func (r *renderer) tcpFilterChains(port uint16, b model.Binding) []*listenerv3.FilterChain {
	addressed := !b.MatchAddress || len(b.Addresses) > 0
	var filters []*listenerv3.Filter
	if addressed || len(b.OtherPods) > 0 {
		filters = r.tcpFilters(port, b)
	}
	out := r.podFilterChains(port, b, filters)
	if addressed {
		out = append(out, &listenerv3.FilterChain{
			Name: "tcp_" + b.Service, FilterChainMatch: matchDestination(port, addressesToMatch(b)), Filters: filters,
		})
	}
	return out
}

// tcpFilters renders the filters of a TCP service. It uses the first route only, because streams have no match
// criteria. Without destinations, there are none: Envoy closes the connections, even if the mesh allows egress.
func (r *renderer) tcpFilters(port uint16, b model.Binding) []*listenerv3.Filter {
	var action model.Action
	if len(b.Routes) > 0 {
		action = b.Routes[0].Action
	}
	cluster, weighted := r.targets(action)
	if cluster == "" && len(weighted) == 0 {
		return nil
	}
	name := tcpFilterName(port, b.Service)
	proxy := newTCPProxy("egress", cluster, weighted, action.Timeouts.Idle, r.view.AccessLog)
	r.add(name, &corev3.TypedExtensionConfig{Name: name, TypedConfig: typedConfig(proxy)}, bindingOrigins(b)...)
	return []*listenerv3.Filter{discoveredTCPFilter(name)}
}

// discoveredTCPFilter is a filter whose configuration is a resource of its own (ECDS). When its targets change, the
// filter chain stays, and so do its connections.
func discoveredTCPFilter(name string) *listenerv3.Filter {
	return &listenerv3.Filter{Name: name, ConfigType: &listenerv3.Filter_ConfigDiscovery{
		ConfigDiscovery: &corev3.ExtensionConfigSource{
			ConfigSource: adsConfigSource(), TypeUrls: []string{typeURL(&tcpproxyv3.TcpProxy{})},
		},
	}}
}

// weightedTarget is a share of traffic for a cluster.
type weightedTarget struct {
	cluster string
	weight  uint32
}

// targets returns the cluster of an action, or several weighted clusters.
func (r *renderer) targets(a model.Action) (string, []weightedTarget) {
	var all []weightedTarget
	for _, t := range a.Destinations {
		if d, ok := r.find(t.Destination); ok && t.Weight > 0 {
			all = append(all, weightedTarget{egressCluster(d), t.Weight})
		}
	}
	if len(all) == 1 {
		return all[0].cluster, nil
	}
	return "", scaleWeights(all)
}

// addressesToMatch lists the original destinations of a stream; none means every address.
func addressesToMatch(b model.Binding) []netip.Addr {
	if !b.MatchAddress {
		return nil
	}
	return b.Addresses
}

// matchDestination matches the original destination. Without addresses, it matches every address.
func matchDestination(port uint16, addresses []netip.Addr) *listenerv3.FilterChainMatch {
	out := &listenerv3.FilterChainMatch{DestinationPort: wrapperspb.UInt32(uint32(port))}
	for _, a := range addresses {
		out.PrefixRanges = append(out.PrefixRanges, hostRange(a))
	}
	return out
}

func hostRange(a netip.Addr) *corev3.CidrRange {
	return &corev3.CidrRange{AddressPrefix: a.String(), PrefixLen: wrapperspb.UInt32(uint32(a.BitLen()))}
}

func bindingOrigins(bindings ...model.Binding) []model.Origin {
	var out []model.Origin
	for _, b := range bindings {
		out = append(out, b.Origin)
		for _, route := range b.Routes {
			out = append(out, route.Origin)
		}
	}
	slices.SortFunc(out, model.Origin.Compare)
	return slices.CompactFunc(out, model.Origin.Equal)
}
