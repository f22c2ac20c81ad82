package grpc

import (
	"fmt"
	"net/http"
	"net/netip"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"anymesh.dev/anymesh/model"
)

// server renders a listener of the workload, once for each address on which a server may listen. A server without
// listener accepts no connections.
func (r *renderer) server(l model.Listener) {
	if l.Protocol != model.GRPC || l.Port == 0 {
		if l.TLS != nil || r.view.Workload.Authorize { // the feature of the protocol says nothing about protection
			r.report(l.Origin, "nothing protects port %d, since no connection is captured; use another driver", l.Port)
		}
		return
	}
	if why := unsupportedServerTLS(l.TLS); why != "" {
		r.report(l.TLS.Origin, "the listener on port %d accepts no connections: %s", l.Port, why)
		return
	}
	manager := &hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			Name: fmt.Sprintf("inbound/%d", l.Port),
			VirtualHosts: []*routev3.VirtualHost{{Name: "inbound", Domains: []string{"*"}, Routes: []*routev3.Route{{
				Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{}},
				Action: &routev3.Route_NonForwardingAction{NonForwardingAction: &routev3.NonForwardingAction{}},
			}}}},
		}},
	}
	origins := []model.Origin{l.Origin}
	if l.TLS != nil && l.TLS.Validation != nil && len(l.TLS.Validation.Names) > 0 {
		manager.HttpFilters = append(manager.HttpFilters, accessFilter("names", map[string]*rbacconfigv3.Policy{
			"names": {Permissions: anyRequest(), Principals: named(l.TLS.Validation.Names)},
		}))
	}
	if r.view.Workload.Authorize {
		policies := map[string]*rbacconfigv3.Policy{}
		if l.TLS != nil && l.TLS.Validation != nil { // without, no client has an identity
			for i, a := range r.view.AuthorizationPolicies {
				if a.AppliesTo(l) {
					r.policy(policies, fmt.Sprintf("%04d %s", i, a.Name), a)
					origins = append(origins, a.Origin)
				}
			}
		}
		manager.HttpFilters = append(manager.HttpFilters, accessFilter("authorization", policies))
	}
	manager.HttpFilters = append(manager.HttpFilters, routerFilter())
	chain := &listenerv3.FilterChain{Filters: []*listenerv3.Filter{{
		Name:       "http_connection_manager",
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: typedConfig(manager)},
	}}}
	if l.TLS != nil {
		chain.TransportSocket = serverSocket(l.TLS)
	}
	for _, a := range serverAddresses {
		name := serverListeners + netip.AddrPortFrom(a, l.Port).String()
		r.add(name, &listenerv3.Listener{
			Name: name, Address: socketAddress(a.String(), l.Port), FilterChains: []*listenerv3.FilterChain{chain},
		}, origins...)
	}
}

// accessFilter allows what a policy allows (gRFC A41).
func accessFilter(name string, policies map[string]*rbacconfigv3.Policy) *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: typedConfig(&rbacv3.RBAC{
		Rules: &rbacconfigv3.RBAC{Action: rbacconfigv3.RBAC_ALLOW, Policies: policies},
	})}}
}

// policy adds an authorization policy under a name. What gRPC libraries cannot match is not allowed.
func (r *renderer) policy(into map[string]*rbacconfigv3.Policy, name string, a model.AuthorizationPolicy) {
	var principals []*rbacconfigv3.Principal
	switch {
	case a.Ingress != nil: // the feature has a finding
	case a.Everyone:
		principals = []*rbacconfigv3.Principal{{Identifier: &rbacconfigv3.Principal_Authenticated_{
			Authenticated: &rbacconfigv3.Principal_Authenticated{},
		}}}
	default:
		var names []string
		for _, s := range a.Sources {
			names = append(names, s.String())
		}
		principals = named(names)
	}
	permissions := anyRequest()
	if len(a.Matches) > 0 {
		permissions = nil
	}
	for _, m := range a.Matches {
		if m.Method == http.MethodPost {
			m.Method = "" // all calls are POST requests
		}
		if why := unsupportedMatch(m); why != "" {
			r.report(a.Origin, "a match of the policy allows no call: %s", why)
			continue
		}
		permissions = append(permissions, permission(m))
	}
	if len(principals) > 0 && len(permissions) > 0 {
		into[name] = &rbacconfigv3.Policy{Permissions: permissions, Principals: principals}
	}
}

func named(names []string) []*rbacconfigv3.Principal {
	var out []*rbacconfigv3.Principal
	for _, n := range names {
		out = append(out, &rbacconfigv3.Principal{Identifier: &rbacconfigv3.Principal_Authenticated_{
			Authenticated: &rbacconfigv3.Principal_Authenticated{
				PrincipalName: stringMatcher(model.StringMatch{Kind: model.Exact, Value: n}),
			},
		}})
	}
	return out
}

func anyRequest() []*rbacconfigv3.Permission {
	return []*rbacconfigv3.Permission{{Rule: &rbacconfigv3.Permission_Any{Any: true}}}
}

func permission(m model.Match) *rbacconfigv3.Permission {
	all := &rbacconfigv3.Permission_Set{}
	if m.Path.Kind != "" {
		all.Rules = append(all.Rules, &rbacconfigv3.Permission{Rule: &rbacconfigv3.Permission_UrlPath{
			UrlPath: &matcherv3.PathMatcher{Rule: &matcherv3.PathMatcher_Path{Path: stringMatcher(m.Path)}},
		}})
	}
	for _, h := range m.Headers {
		all.Rules = append(all.Rules, &rbacconfigv3.Permission{
			Rule: &rbacconfigv3.Permission_Header{Header: headerMatcher(h)},
		})
	}
	if len(all.Rules) == 0 {
		return anyRequest()[0]
	}
	return &rbacconfigv3.Permission{Rule: &rbacconfigv3.Permission_AndRules{AndRules: all}}
}
