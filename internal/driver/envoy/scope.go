package envoy

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

// Each service on a port has a RouteConfiguration of its own, and a scope for each of its host names. A change of a
// service is then a change of small resources: Envoy rebuilds the routes of this service only, whatever the number of
// services on the port. See docs/decisions/0007-routes-by-service.md.
//
// Envoy has no scope for undeclared host names: selectScope selects undeclaredHost for them, which has routes in a mesh
// that forwards undeclared traffic, and in a gateway with a service of any host. A mesh that begins to do so, or ends
// it, gets a scope more or less; its listeners stay, and so do their connections.

// scopedRoutes renders the RouteConfiguration and the scopes of a service on a port.
func (r *renderer) scopedRoutes(port uint16, b model.Binding) {
	name := serviceRoutes(port, b.Service)
	host := r.virtualHost(port, b)
	if r.view.Mesh.Egress == model.EgressAllow {
		host.Routes = append(host.Routes, noRoute())
	}
	config := &routev3.RouteConfiguration{
		Name: name, VirtualHosts: []*routev3.VirtualHost{host}, IgnorePortInHostMatching: b.External,
		TypedPerFilterConfig: withoutSelectScope(),
	}
	r.add(name, config, bindingOrigins(b)...)
	for _, host := range scopeKeys(b.Hosts) {
		if host == model.AnyHost {
			host = undeclaredHost
		}
		r.addScope(port, host, name, b.Origin)
	}
}

// addScope adds the scope of a host name, which has the routes of this name.
func (r *renderer) addScope(port uint16, host, routes string, origin model.Origin) {
	r.add(scope(port, host), &routev3.ScopedRouteConfiguration{
		Name: scope(port, host), RouteConfigurationName: routes,
		Key: &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{{
			Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: host},
		}}},
	}, origin)
}

// undeclaredHost is the key of the scope for the host names that have none. No host has a name below "invalid" (RFC
// 6761, section 6.4).
const undeclaredHost = "undeclared.invalid"

// undeclaredRoutes renders the scope for undeclared host names on a port, of a mesh that forwards their requests.
func (r *renderer) undeclaredRoutes(port uint16) {
	action := &routev3.RouteAction{
		ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: allowAllCluster(r.view.Mesh.Name)},
	}
	setTimeouts(action, model.Timeouts{})
	name := serviceRoutes(port, undeclaredHost)
	r.add(name, &routev3.RouteConfiguration{Name: name, VirtualHosts: []*routev3.VirtualHost{{
		Name:    "allow-all",
		Domains: []string{"*"},
		Routes: []*routev3.Route{{
			Name:   "allow-all",
			Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
			Action: &routev3.Route_Route{Route: action},
		}},
	}}}, r.view.Mesh.Origin)
	r.addScope(port, undeclaredHost, name, r.view.Mesh.Origin)
}

// noRoute answers requests for a service that match none of its routes: they are not undeclared.
func noRoute() *routev3.Route {
	return &routev3.Route{
		Name:   "no-route",
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 404}},
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

// selectScopeFilter is the name of the filters for requests without a route. They share it, so that a route disables
// both.
const selectScopeFilter = "anymesh.select_scope"

// selectRoute selects the scope and the route of a request without a route with another host name. Reading the metadata
// of the route selects it, once in each filter; each route has a name. The request keeps its host name.
const selectRoute = `function envoy_on_request(handle)
  if handle:streamInfo():routeName() ~= "" then
    return
  end
  local headers = handle:headers()
  local host = headers:get(":authority")
  headers:replace(":authority", %s)
  handle:clearRouteCache()
  handle:metadata()
  headers:replace(":authority", host)
end
`

// selectScope returns filters for requests whose host name selects no route: they are disabled in all routes of scopes.
// The first takes the host name in lower case: host names ignore case (RFC 3986, section 3.2.2), and keys of scopes do
// not. The second takes undeclaredHost.
func selectScope() []*hcmv3.HttpFilter {
	var out []*hcmv3.HttpFilter
	for _, host := range []string{"host:lower()", strconv.Quote(undeclaredHost)} {
		code := &corev3.DataSource_InlineString{InlineString: fmt.Sprintf(selectRoute, host)}
		out = append(out, &hcmv3.HttpFilter{Name: selectScopeFilter, ConfigType: &hcmv3.HttpFilter_TypedConfig{
			TypedConfig: typedConfig(&luav3.Lua{
				DefaultSourceCode: &corev3.DataSource{Specifier: code}, ClearRouteCache: wrapperspb.Bool(false),
			}),
		}})
	}
	return out
}

// withoutSelectScope disables selectScope for requests that have a route.
func withoutSelectScope() map[string]*anypb.Any {
	return map[string]*anypb.Any{selectScopeFilter: typedConfig(&routev3.FilterConfig{Disabled: true})}
}
