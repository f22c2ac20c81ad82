package envoy

import (
	"math"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	connectionlimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/local_ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

const requestRateFilter = "envoy.filters.http.local_ratelimit"

// connectionRate returns the filters that limit the connections of a listener.
func connectionRate(l model.Listener, filters []*listenerv3.Filter) []*listenerv3.Filter {
	if l.ConnectionRate == nil || len(filters) == 0 {
		return filters
	}
	limit := &connectionlimitv3.LocalRateLimit{StatPrefix: "ingress", TokenBucket: tokenBucket(*l.ConnectionRate)}
	return append([]*listenerv3.Filter{{
		Name:       "envoy.filters.network.local_ratelimit",
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: typedConfig(limit)},
	}}, filters...)
}

// addRequestRates adds a filter that does nothing and, for each limit, a route like the last one that enables it: a
// request gets the limit of its route. The filter is the same without limits, so that the first limit, which changes
// routes only, does not drain connections.
func addRequestRates(l model.Listener, manager *hcmv3.HttpConnectionManager, config *routev3.RouteConfiguration) {
	none := &ratelimitv3.LocalRateLimit{StatPrefix: "ingress"}
	manager.HttpFilters = append([]*hcmv3.HttpFilter{{
		Name: requestRateFilter, Disabled: true,
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: typedConfig(none)},
	}}, manager.HttpFilters...)
	host := config.VirtualHosts[0]
	application := host.Routes[len(host.Routes)-1]
	var routes []*routev3.Route
	for _, rate := range l.RequestRates {
		route := proto.CloneOf(application)
		route.Match = routeMatch(rate.Match)
		route.TypedPerFilterConfig = map[string]*anypb.Any{
			requestRateFilter: typedConfig(&routev3.FilterConfig{Config: typedConfig(rateConfig(rate))}),
		}
		routes = append(routes, route)
	}
	host.Routes = append(routes, host.Routes...)
}

func rateConfig(rate model.RequestRate) *ratelimitv3.LocalRateLimit {
	always := &corev3.RuntimeFractionalPercent{
		DefaultValue: &typev3.FractionalPercent{Numerator: 100, Denominator: typev3.FractionalPercent_HUNDRED},
	}
	out := &ratelimitv3.LocalRateLimit{
		StatPrefix: "ingress", TokenBucket: tokenBucket(rate.Limit), FilterEnabled: always, FilterEnforced: always,
		Status: &typev3.HttpStatus{Code: typev3.StatusCode(rate.StatusCode)},
	}
	out.ResponseHeadersToAdd = setHeaders(&model.Rewrite{Headers: rate.Headers})
	return out
}

func tokenBucket(r model.RateLimit) *typev3.TokenBucket {
	most := uint32(min(uint64(r.Count)+uint64(r.Burst), math.MaxUint32))
	return &typev3.TokenBucket{
		MaxTokens: most, TokensPerFill: wrapperspb.UInt32(r.Count),
		FillInterval: durationpb.New(time.Duration(r.Interval)),
	}
}
