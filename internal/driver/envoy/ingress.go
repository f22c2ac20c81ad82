package envoy

import (
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// ingress renders the listener for captured inbound connections, with a filter chain for each of the workload's ports.
// A workload without listeners has none.
func (r *renderer) ingress() {
	var chains []*listenerv3.FilterChain
	var origins []model.Origin
	for _, in := range r.view.Inbound {
		l := in.Listener
		if l.Port == 0 || l.Router != "" {
			continue // reported as unsupported features
		}
		cluster := ingressCluster(r.view.Workload, l)
		r.add(cluster, applicationCluster(r.view.Mesh, cluster, l), l.Origin)
		chain := &listenerv3.FilterChain{
			Name:             cluster,
			FilterChainMatch: &listenerv3.FilterChainMatch{DestinationPort: wrapperspb.UInt32(uint32(l.Port))},
		}
		if l.Protocol.Requests() {
			r.add(ingressRoutes(l), ingressRouteConfig(l, cluster), l.Origin)
			manager := newHTTPConnectionManager("ingress")
			manager.RouteSpecifier = routesByName(ingressRoutes(l))
			chain.Filters = []*listenerv3.Filter{httpFilter(manager)}
		} else {
			chain.Filters = []*listenerv3.Filter{tcpProxy("ingress", cluster, nil, l.Timeouts.Idle)}
		}
		chains = append(chains, chain)
		origins = append(origins, l.Origin)
	}
	if len(chains) == 0 {
		return
	}
	r.add(ingressListener, capturedListener(ingressListener, sidecar.InboundPort, chains), origins...)
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
