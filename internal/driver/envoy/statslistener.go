package envoy

import (
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"anymesh.dev/anymesh/model"
)

// statsListener exposes GET for the metrics and readiness paths of the admin interface, and no other path.
func statsListener(p proxy) *listenerv3.Listener {
	var routes []*routev3.Route
	for _, path := range []string{"/stats", "/stats/prometheus", "/ready"} {
		routes = append(routes, &routev3.Route{
			Name: path,
			Match: &routev3.RouteMatch{
				PathSpecifier: &routev3.RouteMatch_Path{Path: path},
				Headers: []*routev3.HeaderMatcher{
					headerMatcher(model.FieldMatch{Name: ":method", Kind: model.Exact, Value: "GET"}),
				},
			},
			Action: &routev3.Route_Route{
				Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: adminCluster}},
			},
		})
	}
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: "stats",
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			VirtualHosts: []*routev3.VirtualHost{{Name: "stats", Domains: []string{"*"}, Routes: routes}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name:       "envoy.filters.http.router",
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: typedConfig(&routerv3.Router{})},
		}},
	}
	out := &listenerv3.Listener{
		Name:    "stats",
		Address: socketAddress("0.0.0.0", p.statsPort()),
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.http_connection_manager",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: typedConfig(manager)},
		}}}},
		IgnoreGlobalConnLimit: true,
	}
	if p.StatsIPv6 {
		out.AdditionalAddresses = []*listenerv3.AdditionalAddress{{Address: socketAddress("::", p.statsPort())}}
	}
	return out
}
