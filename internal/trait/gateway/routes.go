package gateway

import (
	"net/http"
	"strconv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"anymesh.dev/anymesh/internal/trait/provider"
)

// Limits of an HTTPRoute.
const (
	maxRules       = 16
	maxHeaders     = 16
	maxHeaderValue = 4096
)

// httpRoute returns the HTTPRoute of up to 16 rules. A Route with more rules has several HTTPRoutes, which Gateway API
// merges.
func httpRoute(route provider.Route, part int, rules []provider.Rule, parents []gatewayv1.ParentReference) (
	*gatewayv1.HTTPRoute, []provider.Unsupported) {
	name := provider.ObjectName(route.Name)
	if part > 0 {
		name = provider.ObjectName(route.Name, "part", strconv.Itoa(part+1))
	}
	out := &gatewayv1.HTTPRoute{ObjectMeta: route.Meta(name)}
	out.Spec.ParentRefs = parents
	out.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(route.Host)}
	var not []provider.Unsupported
	for _, rule := range rules {
		one, more := httpRule(rule)
		out.Spec.Rules, not = append(out.Spec.Rules, one), append(not, more...)
	}
	return out, not
}

func httpRule(rule provider.Rule) (gatewayv1.HTTPRouteRule, []provider.Unsupported) {
	out := gatewayv1.HTTPRouteRule{
		Name: pointer(gatewayv1.SectionName(rule.Name)),
		Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{
			Type: pointer(gatewayv1.PathMatchPathPrefix), Value: pointer(rule.PathPrefix()),
		}}},
		BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{
			BackendObjectReference: gatewayv1.BackendObjectReference{
				Group: pointer(gatewayv1.Group("")), Kind: pointer(gatewayv1.Kind("Service")),
				Name: gatewayv1.ObjectName(rule.Backend.Service), Port: pointer(rule.Backend.Port),
			},
			Weight: pointer(int32(1)),
		}}},
	}
	headers, not := headersOf(rule)
	if len(headers) > 0 {
		out.Filters = append(out.Filters, gatewayv1.HTTPRouteFilter{
			Type:                  gatewayv1.HTTPRouteFilterRequestHeaderModifier,
			RequestHeaderModifier: &gatewayv1.HTTPHeaderFilter{Set: headers},
		})
	}
	if target := rule.RewriteTarget; target != "" {
		if err := provider.CheckPath(target); err != nil {
			not = append(not, rule.Unsupported("rewriteTarget", "the path is not changed: %v", err))
		} else {
			out.Filters = append(out.Filters, gatewayv1.HTTPRouteFilter{
				Type: gatewayv1.HTTPRouteFilterURLRewrite,
				URLRewrite: &gatewayv1.HTTPURLRewriteFilter{Path: &gatewayv1.HTTPPathModifier{
					Type: gatewayv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: &target,
				}},
			})
		}
	}
	if rule.ReadTimeout > 0 {
		not = append(not, rule.Unsupported("backend.readTimeout", "the timeout is not set: an HTTPRoute limits only whole "+
			"requests, which would cut streams; use a policy of the implementation"))
	}
	if rule.SendTimeout > 0 {
		not = append(not, rule.Unsupported("backend.sendTimeout", "the timeout is not set: an HTTPRoute has no such field; "+
			"use a policy of the implementation"))
	}
	if rule.Default != nil {
		not = append(not, rule.Unsupported("defaultBackend", "the default backend is not used: an HTTPRoute has no second "+
			"backend for the time that the first has no ready endpoint; requests get status 503 or 500"))
	}
	return out, not
}

func headersOf(rule provider.Rule) ([]gatewayv1.HTTPHeader, []provider.Unsupported) {
	headers, not := rule.SettableHeaders()
	var out []gatewayv1.HTTPHeader
	for _, h := range headers {
		switch value := strings.Trim(h.Value, " \t"); {
		case value == "":
			not = append(not, rule.Unsupported("customHeaders", "the header %q is not set: an HTTPRoute does not allow empty "+
				"values", h.Name))
		case len(value) > maxHeaderValue:
			not = append(not, rule.Unsupported("customHeaders", "the header %q is not set: its value has more than %d "+
				"characters", h.Name, maxHeaderValue))
		case len(out) == maxHeaders:
			not = append(not, rule.Unsupported("customHeaders", "the header %q is not set: a rule of an HTTPRoute sets at "+
				"most %d headers", h.Name, maxHeaders))
		default:
			out = append(out, gatewayv1.HTTPHeader{Name: gatewayv1.HTTPHeaderName(h.Name), Value: value})
		}
	}
	return out, not
}

// redirect returns the HTTPRoute that redirects plain HTTP to HTTPS.
func redirect(route provider.Route, parents []gatewayv1.ParentReference) *gatewayv1.HTTPRoute {
	out := &gatewayv1.HTTPRoute{ObjectMeta: route.Meta(provider.ObjectName(route.Name, "redirect"))}
	out.Spec.ParentRefs = parents
	out.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(route.Host)}
	out.Spec.Rules = []gatewayv1.HTTPRouteRule{{
		Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{
			Type: pointer(gatewayv1.PathMatchPathPrefix), Value: pointer("/"),
		}}},
		Filters: []gatewayv1.HTTPRouteFilter{{
			Type: gatewayv1.HTTPRouteFilterRequestRedirect,
			RequestRedirect: &gatewayv1.HTTPRequestRedirectFilter{
				Scheme: pointer("https"), StatusCode: pointer(http.StatusPermanentRedirect),
			},
		}},
	}}
	return out
}

func parent(kind gatewayv1.Kind, namespace, name string, section gatewayv1.SectionName) gatewayv1.ParentReference {
	return gatewayv1.ParentReference{
		Group: pointer(gatewayv1.Group(gatewayv1.GroupName)), Kind: &kind,
		Namespace: pointer(gatewayv1.Namespace(namespace)), Name: gatewayv1.ObjectName(name), SectionName: &section,
	}
}

func pointer[T any](v T) *T { return &v }
