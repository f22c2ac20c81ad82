package envoy

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

// Each service on a port has a RouteConfiguration of its own, and a scope for each of its host names. A change of a
// service is then a change of small resources: Envoy rebuilds the routes of this service only, whatever the number of
// services on the port. See docs/decisions/0007-routes-by-service.md.
//
// Envoy has no scope for undeclared host names. A mesh that forwards undeclared traffic therefore has one
// RouteConfiguration for a port.

// scoped reports whether the services of a mesh have scopes.
func scoped(mesh model.Mesh) bool { return mesh.Egress != model.EgressAllow }

// scopedRoutes renders the RouteConfiguration and the scopes of a service on a port.
func (r *renderer) scopedRoutes(port uint16, b model.Binding) {
	name := serviceRoutes(port, b.Service)
	config := &routev3.RouteConfiguration{
		Name: name, VirtualHosts: []*routev3.VirtualHost{r.virtualHost(port, b)}, IgnorePortInHostMatching: b.External,
	}
	r.add(name, config, bindingOrigins(b)...)
	for _, host := range scopeKeys(b.Hosts) {
		r.add(scope(port, host), &routev3.ScopedRouteConfiguration{
			Name: scope(port, host), RouteConfigurationName: name,
			Key: &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{{
				Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: host},
			}}},
		}, b.Origin)
	}
}

// scope names the scope of a host name on a port. The scopes of a port are a collection.
func scope(port uint16, host string) string {
	return fmt.Sprintf("xdstp://anymesh/envoy.config.route.v3.ScopedRouteConfiguration/%s/%s", egressRoutes(port),
		url.PathEscape(host))
}

func scopeCollection(port uint16) string { return scope(port, "") + "*" }

// scopeKeys returns the distinct lower-case host names.
func scopeKeys(hosts []string) []string {
	var out []string
	for _, h := range hosts {
		if key := strings.ToLower(h); !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	return out
}

// scopesByHost selects the scope of a request by its host name without port.
func scopesByHost(port uint16) *hcmv3.HttpConnectionManager_ScopedRoutes {
	host := &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor{
		Name: ":authority", ElementSeparator: ":",
		ExtractType: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_Index{},
	}
	return &hcmv3.HttpConnectionManager_ScopedRoutes{ScopedRoutes: &hcmv3.ScopedRoutes{
		Name: egressRoutes(port),
		ScopeKeyBuilder: &hcmv3.ScopedRoutes_ScopeKeyBuilder{
			Fragments: []*hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder{{
				Type: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_{HeaderValueExtractor: host},
			}},
		},
		RdsConfigSource: adsConfigSource(),
		ConfigSpecifier: &hcmv3.ScopedRoutes_ScopedRds{ScopedRds: &hcmv3.ScopedRds{
			ScopedRdsConfigSource: adsConfigSource(), SrdsResourcesLocator: scopeCollection(port),
		}},
	}}
}

// ignoreCase selects the scope and the route with the host name in lower case: host names ignore case (RFC 3986,
// section 3.2.2), and keys of scopes do not. Reading the metadata of the route selects it. The request keeps its host
// name.
const ignoreCase = `function envoy_on_request(handle)
  local headers = handle:headers()
  local host = headers:get(":authority")
  headers:replace(":authority", host:lower())
  handle:clearRouteCache()
  handle:metadata()
  headers:replace(":authority", host)
end
`

// ignoreHostCase is a filter for requests whose host name has upper-case letters; it is skipped for all others.
func ignoreHostCase() *hcmv3.HttpFilter {
	lua := &luav3.Lua{
		DefaultSourceCode: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: ignoreCase}},
		ClearRouteCache:   wrapperspb.Bool(false),
	}
	isLowerCase := &xdsmatcherv3.Matcher_MatcherList_Predicate{
		MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_{
			SinglePredicate: headerMatches(":authority", "[^A-Z]*"),
		},
	}
	return skippedFilter("anymesh.ignore_host_case", lua, isLowerCase)
}
