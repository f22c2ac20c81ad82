package envoy

import (
	"fmt"
	"regexp"
	"slices"

	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"anymesh.dev/anymesh/model"
)

const authorizationFilter = "envoy.filters.http.rbac"

// addAuthorization adds a filter that denies requests. The virtual host has the policies: requests on open connections
// follow a change of it, which a change of the listener does not affect.
func addAuthorization(manager *hcmv3.HttpConnectionManager, config *routev3.RouteConfiguration,
	rules *rbacconfigv3.RBAC) {
	deny := &rbacv3.RBAC{Rules: &rbacconfigv3.RBAC{Action: rbacconfigv3.RBAC_ALLOW}}
	manager.HttpFilters = slices.Insert(manager.HttpFilters, 0, &hcmv3.HttpFilter{
		Name:       authorizationFilter,
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: typedConfig(deny)},
	})
	config.VirtualHosts[0].TypedPerFilterConfig = map[string]*anypb.Any{
		authorizationFilter: typedConfig(&rbacv3.RBACPerRoute{Rbac: &rbacv3.RBAC{Rules: rules}}),
	}
}

// requestRules renders the policies about requests of a listener. Only what they allow is allowed.
func (r *renderer) requestRules(l model.Listener) *rbacconfigv3.RBAC {
	out := &rbacconfigv3.RBAC{Action: rbacconfigv3.RBAC_ALLOW, Policies: map[string]*rbacconfigv3.Policy{}}
	for i, a := range r.view.AuthorizationPolicies {
		principals := principals(a)
		if a.Streams || !a.AppliesTo(l) || len(principals) == 0 {
			continue
		}
		permissions := r.permissions(a)
		if a.Ingress != nil {
			permissions = withServerNames(permissions, a.Ingress.ServerNames)
		}
		if len(permissions) > 0 {
			out.Policies[fmt.Sprintf("%04d %s", i, a.Name)] = &rbacconfigv3.Policy{
				Permissions: permissions, Principals: principals,
			}
		}
	}
	return out
}

// policyOrigins are the origins of the policies of a listener.
func (r *renderer) policyOrigins(l model.Listener) []model.Origin {
	var out []model.Origin
	for _, a := range r.view.AuthorizationPolicies {
		if a.AppliesTo(l) {
			out = append(out, a.Origin)
		}
	}
	return out
}

// principals are the clients that a policy allows: the URI in the certificate is compared as a whole.
func principals(a model.AuthorizationPolicy) []*rbacconfigv3.Principal {
	switch {
	case a.Ingress != nil:
		return []*rbacconfigv3.Principal{ingressPrincipal(a.Ingress)}
	case a.Everyone:
		return []*rbacconfigv3.Principal{{Identifier: &rbacconfigv3.Principal_Authenticated_{
			Authenticated: &rbacconfigv3.Principal_Authenticated{},
		}}}
	}
	var names []string
	for _, s := range a.Sources {
		names = append(names, s.String())
	}
	return principalsNamed(names)
}

// permissions are the requests that a policy allows. What Envoy cannot match is not allowed.
func (r *renderer) permissions(a model.AuthorizationPolicy) []*rbacconfigv3.Permission {
	if len(a.Matches) == 0 {
		return []*rbacconfigv3.Permission{{Rule: &rbacconfigv3.Permission_Any{Any: true}}}
	}
	var out []*rbacconfigv3.Permission
	for _, m := range a.Matches {
		fault := unsupportedMatch(m)
		if fault == "" && len(m.Query) > 0 {
			fault = "it has conditions on the query"
		}
		if fault != "" {
			r.findings = append(r.findings, model.NewFinding(a.Origin, model.CodeNotSupported,
				"driver envoy does not support a match of the policy, which allows no request by it: "+fault))
			continue
		}
		out = append(out, permission(m))
	}
	return out
}

func permission(m model.Match) *rbacconfigv3.Permission {
	all := &rbacconfigv3.Permission_Set{}
	add := func(p *rbacconfigv3.Permission) { all.Rules = append(all.Rules, p) }
	if m.Path.Kind == model.PathPrefix {
		m.Path = model.StringMatch{Kind: model.Regex, Value: regexp.QuoteMeta(m.Path.PathElements()) + "(?:/.*)?"}
	}
	if m.Path.Kind != "" {
		path := stringMatcher(model.FieldMatch{Kind: m.Path.Kind, Value: m.Path.Value})
		add(&rbacconfigv3.Permission{Rule: &rbacconfigv3.Permission_UrlPath{UrlPath: &matcherv3.PathMatcher{
			Rule: &matcherv3.PathMatcher_Path{Path: path},
		}}})
	}
	for _, h := range routeMatch(m).Headers { // with the method and the scheme
		add(&rbacconfigv3.Permission{Rule: &rbacconfigv3.Permission_Header{Header: h}})
	}
	if len(all.Rules) == 0 {
		return &rbacconfigv3.Permission{Rule: &rbacconfigv3.Permission_Any{Any: true}}
	}
	return &rbacconfigv3.Permission{Rule: &rbacconfigv3.Permission_AndRules{AndRules: all}}
}
