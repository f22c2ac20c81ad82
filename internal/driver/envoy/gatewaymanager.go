package envoy

import (
	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	matchingv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/matching/v3"
	skipv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/matcher/action/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

// Limits for connections from outside the mesh, from Envoy's guide for edge proxies. Buffers and windows are in bytes.
const (
	gatewayBufferLimit      = 32 << 10
	gatewayStreams          = 100
	gatewayStreamWindow     = 64 << 10
	gatewayConnectionWindow = 1 << 20
)

// newGatewayConnectionManager returns a connection manager without routes for clients outside the mesh. It appends the
// address of the client to X-Forwarded-For, and sets X-Forwarded-Proto unless proxies in front of it are trusted. The
// request ID of a client is kept.
func newGatewayConnectionManager(w model.Workload) *hcmv3.HttpConnectionManager {
	out := newHTTPConnectionManager("ingress", w.AccessLog)
	out.UseRemoteAddress = wrapperspb.Bool(true)
	out.XffNumTrustedHops = w.TrustedHops
	out.PreserveExternalRequestId = true
	out.Http2ProtocolOptions.MaxConcurrentStreams = wrapperspb.UInt32(gatewayStreams)
	out.Http2ProtocolOptions.InitialStreamWindowSize = wrapperspb.UInt32(gatewayStreamWindow)
	out.Http2ProtocolOptions.InitialConnectionWindowSize = wrapperspb.UInt32(gatewayConnectionWindow)
	return out
}

// restoreHostCode replaces the host name after the route of the service is selected.
const restoreHostCode = `function envoy_on_request(handle)
  local headers = handle:headers()
  headers:replace(":authority", headers:get("` + originalHostHeader + `"))
  headers:remove("` + originalHostHeader + `")
end
`

// restoreHost is a filter for requests with originalHostHeader; it is skipped for all others.
func restoreHost() *hcmv3.HttpFilter {
	lua := &luav3.Lua{
		DefaultSourceCode: &corev3.DataSource{
			Specifier: &corev3.DataSource_InlineString{InlineString: restoreHostCode},
		},
		ClearRouteCache: wrapperspb.Bool(false),
	}
	present := &xdsmatcherv3.Matcher_MatcherList_Predicate{
		MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_{
			SinglePredicate: headerMatches(originalHostHeader, ".*"),
		},
	}
	absent := &xdsmatcherv3.Matcher_MatcherList_Predicate{
		MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_NotMatcher{NotMatcher: present},
	}
	return skippedFilter("anymesh.restore_host", lua, absent)
}

// headerMatches is true for requests with a header whose value matches a regular expression.
func headerMatches(header, regex string) *xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate {
	return &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate{
		Input: &xdscorev3.TypedExtensionConfig{
			Name: "header", TypedConfig: typedConfig(&matcherv3.HttpRequestHeaderMatchInput{HeaderName: header}),
		},
		Matcher: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_ValueMatch{
			ValueMatch: &xdsmatcherv3.StringMatcher{MatchPattern: &xdsmatcherv3.StringMatcher_SafeRegex{
				SafeRegex: &xdsmatcherv3.RegexMatcher{
					EngineType: &xdsmatcherv3.RegexMatcher_GoogleRe2{GoogleRe2: &xdsmatcherv3.RegexMatcher_GoogleRE2{}},
					Regex:      regex,
				},
			}},
		},
	}
}

// skippedFilter is a Lua filter that is skipped for requests that match.
func skippedFilter(name string, lua *luav3.Lua, when *xdsmatcherv3.Matcher_MatcherList_Predicate) *hcmv3.HttpFilter {
	skip := &xdsmatcherv3.Matcher_OnMatch{OnMatch: &xdsmatcherv3.Matcher_OnMatch_Action{
		Action: &xdscorev3.TypedExtensionConfig{Name: "skip", TypedConfig: typedConfig(&skipv3.SkipFilter{})},
	}}
	filter := &matchingv3.ExtensionWithMatcher{
		ExtensionConfig: &corev3.TypedExtensionConfig{Name: "envoy.filters.http.lua", TypedConfig: typedConfig(lua)},
		XdsMatcher: &xdsmatcherv3.Matcher{MatcherType: &xdsmatcherv3.Matcher_MatcherList_{
			MatcherList: &xdsmatcherv3.Matcher_MatcherList{Matchers: []*xdsmatcherv3.Matcher_MatcherList_FieldMatcher{{
				Predicate: when, OnMatch: skip,
			}}},
		}},
	}
	return &hcmv3.HttpFilter{
		Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: typedConfig(filter)},
	}
}
