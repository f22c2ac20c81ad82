package grpc

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

// maxRetries is the limit of gRPC libraries: five attempts (gRFC A6).
const maxRetries = 4

// service renders a service on a port: a listener for each of its host names, and their routes.
func (r *renderer) service(port uint16, b model.Binding) {
	routes := fmt.Sprintf("outbound/%d/%s", port, b.Service)
	host := &routev3.VirtualHost{Name: b.Service, Domains: []string{"*"}}
	origins := []model.Origin{b.Origin}
	for _, route := range b.Routes {
		origins = append(origins, route.Origin)
		if why := unsupportedMatch(route.Match); why != "" {
			r.report(route.Origin, "the route is not served: %s", why)
			continue
		}
		host.Routes = append(host.Routes, r.route(route))
	}
	r.add(routes, &routev3.RouteConfiguration{Name: routes, VirtualHosts: []*routev3.VirtualHost{host}}, origins...)
	manager := &hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
			RouteConfigName: routes, ConfigSource: adsConfigSource(),
		}},
		HttpFilters: []*hcmv3.HttpFilter{routerFilter()},
	}
	for _, name := range hosts(b) {
		name = fmt.Sprintf("%s:%d", name, port)
		r.addListener(&listenerv3.Listener{
			Name: name, ApiListener: &listenerv3.ApiListener{ApiListener: typedConfig(manager)},
		}, b.Origin)
	}
}

// hosts returns the distinct host names of a service in lower case.
func hosts(b model.Binding) []string {
	var out []string
	for _, h := range b.Hosts {
		if h = strings.ToLower(h); !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// addListener adds a listener, unless another service has its host name.
func (r *renderer) addListener(l *listenerv3.Listener, at model.Origin) {
	added := newResource(l.Name, l, at)
	for _, other := range r.resources {
		if other.Type == added.Type && other.Name == added.Name {
			return // the view has the conflict
		}
	}
	r.resources = append(r.resources, added)
}

// route renders a route. Without destinations, calls fail with status UNAVAILABLE.
func (r *renderer) route(route model.Route) *routev3.Route {
	out := &routev3.Route{Name: route.Name, Match: routeMatch(route.Match)}
	weighted := &routev3.WeightedCluster{}
	for _, t := range route.Action.Destinations {
		if d, known := r.view.Destination(t.Destination); known && t.Weight > 0 {
			weighted.Clusters = append(weighted.Clusters, &routev3.WeightedCluster_ClusterWeight{
				Name: clusterName(d), Weight: wrapperspb.UInt32(t.Weight),
			})
		}
	}
	if len(weighted.Clusters) == 0 {
		out.Action = &routev3.Route_NonForwardingAction{NonForwardingAction: &routev3.NonForwardingAction{}}
		return out
	}
	action := &routev3.RouteAction{
		ClusterSpecifier: &routev3.RouteAction_WeightedClusters{WeightedClusters: weighted},
		RetryPolicy:      r.retryPolicy(route),
	}
	if limit := route.Action.Timeouts.Request; limit > 0 {
		action.MaxStreamDuration = &routev3.RouteAction_MaxStreamDuration{
			MaxStreamDuration: durationpb.New(time.Duration(limit)),
		}
	}
	if idle, limit := route.Action.Timeouts.Idle, route.Action.Timeouts.Request; idle > 0 && (limit == 0 || idle < limit) {
		r.report(route.Origin, "gRPC libraries have no idle timeout of calls")
	}
	out.Action = &routev3.Route_Route{Route: action}
	return out
}

// retryPolicy renders what gRPC libraries can retry (gRFC A44). The rest is reported.
func (r *renderer) retryPolicy(route model.Route) *routev3.RetryPolicy {
	p := route.Action.Retry
	if p.Retries == 0 {
		return nil
	}
	var causes, other []string
	for _, c := range p.Conditions {
		if string(retryOn[c]) == string(c) {
			causes = append(causes, string(c))
		} else {
			other = append(other, string(c))
		}
	}
	for _, code := range p.StatusCodes {
		if !unavailableStatus[code] {
			r.report(route.Origin, "gRPC libraries do not retry HTTP status %d", code)
			continue
		}
		other = append(other, fmt.Sprintf("HTTP status %d", code))
	}
	if len(other) > 0 && !slices.Contains(p.Conditions, model.RetryGRPCUnavailable) {
		r.report(route.Origin, "gRPC libraries retry %s only with the condition unavailable", strings.Join(other, ", "))
	}
	if len(causes) == 0 {
		return nil
	}
	slices.Sort(causes)
	if p.Retries > maxRetries {
		r.report(route.Origin, "gRPC libraries retry at most %d times", maxRetries)
	}
	if p.PerTry > 0 {
		r.report(route.Origin, "gRPC libraries have no timeout of each attempt; the timeout of the call applies")
	}
	return &routev3.RetryPolicy{
		RetryOn: strings.Join(causes, ","), NumRetries: wrapperspb.UInt32(min(p.Retries, maxRetries)),
	}
}

// routerFilter is the last filter of each list.
func routerFilter() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{
		Name:       "router",
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: typedConfig(&routerv3.Router{})},
	}
}

func adsConfigSource() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}
