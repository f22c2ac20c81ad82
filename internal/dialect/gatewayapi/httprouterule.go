package gatewayapi

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"anymesh.dev/anymesh/internal/gateway"
	"anymesh.dev/anymesh/model"
)

// routePaths returns the paths of an HTTPRoute, or the first field that is not supported.
func routePaths(o *gatewayv1.HTTPRoute, at model.Origin) (out []gateway.Path, unsupported string) {
	if o.Spec.UseDefaultGateways != "" {
		return nil, "spec.useDefaultGateways is not supported"
	}
	if len(o.Spec.Hostnames) == 0 {
		return nil, "spec.hostnames: the route needs a host name"
	}
	for i, h := range o.Spec.Hostnames {
		if strings.HasPrefix(string(h), "*") {
			return nil, fmt.Sprintf("spec.hostnames[%d]: a wildcard is not supported", i)
		}
	}
	for i, rule := range o.Spec.Rules {
		field := fmt.Sprintf("spec.rules[%d]", i)
		entry, bad := ruleAction(o.Namespace, field, rule)
		if bad != "" {
			return nil, bad
		}
		matches := rule.Matches
		if len(matches) == 0 {
			matches = []gatewayv1.HTTPRouteMatch{{}}
		}
		for j, m := range matches {
			match := fmt.Sprintf("%s.matches[%d]", field, j)
			if entry.Match, bad = pathOf(match, m); bad != "" {
				return nil, bad
			}
			if entry.Rewrite != nil && entry.Rewrite.PathPrefix != nil && entry.Match.Kind != model.PathPrefix {
				return nil, match + ".path.type: a path with ReplacePrefixMatch has to be of type PathPrefix"
			}
			entry.Origin = at.At(match)
			out = append(out, entry)
		}
	}
	return out, ""
}

// pathOf returns the path of a match, or the field that is not supported.
func pathOf(field string, m gatewayv1.HTTPRouteMatch) (model.StringMatch, string) {
	switch {
	case len(m.Headers) > 0:
		return model.StringMatch{}, field + ".headers is not supported"
	case len(m.QueryParams) > 0:
		return model.StringMatch{}, field + ".queryParams is not supported"
	case m.Method != nil:
		return model.StringMatch{}, field + ".method is not supported"
	}
	kind, value := gatewayv1.PathMatchPathPrefix, "/"
	if m.Path != nil && m.Path.Type != nil {
		kind = *m.Path.Type
	}
	if m.Path != nil && m.Path.Value != nil {
		value = *m.Path.Value
	}
	switch kind {
	case gatewayv1.PathMatchExact:
		return model.StringMatch{Kind: model.Exact, Value: value}, ""
	case gatewayv1.PathMatchPathPrefix:
		return model.StringMatch{Kind: model.PathPrefix, Value: cmp.Or(strings.TrimRight(value, "/"), "/")}, ""
	}
	return model.StringMatch{}, fmt.Sprintf("%s.path.type: %s is not supported; use Exact or PathPrefix", field, kind)
}

// ruleAction returns what a rule does, or the field that is not supported.
func ruleAction(namespace, field string, rule gatewayv1.HTTPRouteRule) (gateway.Path, string) {
	var out gateway.Path
	switch {
	case rule.Retry != nil:
		return out, field + ".retry is not supported"
	case rule.SessionPersistence != nil:
		return out, field + ".sessionPersistence is not supported"
	}
	if t := rule.Timeouts; t != nil {
		if t.BackendRequest != nil {
			return out, field + ".timeouts.backendRequest is not supported"
		}
		if t.Request != nil {
			d, err := time.ParseDuration(string(*t.Request))
			if err != nil || d <= 0 {
				return out, field + ".timeouts.request: only a positive duration is supported"
			}
			out.Timeouts.Request = model.Duration(d)
		}
	}
	for i, f := range rule.Filters {
		if bad := addFilter(&out, fmt.Sprintf("%s.filters[%d]", field, i), f); bad != "" {
			return out, bad
		}
	}
	if out.Redirect != nil {
		if len(rule.BackendRefs) > 0 || out.Rewrite != nil {
			return out, field + ".filters: a rule with RequestRedirect has no backends and no other filters"
		}
		return out, ""
	}
	if len(rule.BackendRefs) == 0 {
		return out, field + ".backendRefs: a rule needs a backend or the filter RequestRedirect"
	}
	for i, b := range rule.BackendRefs {
		if len(b.Filters) > 0 {
			return out, fmt.Sprintf("%s.backendRefs[%d].filters is not supported", field, i)
		}
		weight := int32(1)
		if b.Weight != nil {
			weight = *b.Weight
		}
		if reason, _ := refFault(namespace, b); reason != "" {
			continue // the condition ResolvedRefs tells
		}
		out.Split = append(out.Split, gateway.WeightedBackend{
			Backend: gateway.Backend{
				Service: types.NamespacedName{Namespace: namespace, Name: string(b.Name)}, Number: *b.Port,
			},
			Weight: uint32(weight), Field: fmt.Sprintf("%s.backendRefs[%d]", field, i),
		})
	}
	return out, ""
}

// filter adds a filter, or returns the field that is not supported.
func addFilter(a *gateway.Path, field string, f gatewayv1.HTTPRouteFilter) string {
	if a.Rewrite == nil && f.Type != gatewayv1.HTTPRouteFilterRequestRedirect {
		a.Rewrite = &model.Rewrite{}
	}
	switch {
	case f.Type == gatewayv1.HTTPRouteFilterRequestHeaderModifier && f.RequestHeaderModifier != nil:
		h := f.RequestHeaderModifier
		if len(h.Add) > 0 || len(h.Remove) > 0 {
			return field + ".requestHeaderModifier: add and remove are not supported; use set"
		}
		for i, header := range h.Set {
			name := strings.ToLower(string(header.Name))
			if name == "host" {
				return fmt.Sprintf("%s.requestHeaderModifier.set[%d]: the host cannot be set", field, i)
			}
			a.Rewrite.Headers = append(a.Rewrite.Headers, model.Header{Name: name, Value: header.Value})
		}
		return ""
	case f.Type == gatewayv1.HTTPRouteFilterURLRewrite && f.URLRewrite != nil:
		return rewriteURL(a, field+".urlRewrite", *f.URLRewrite)
	case f.Type == gatewayv1.HTTPRouteFilterRequestRedirect && f.RequestRedirect != nil:
		return redirectTo(a, field+".requestRedirect", *f.RequestRedirect)
	}
	return fmt.Sprintf("%s.type: %s is not supported", field, f.Type)
}

func rewriteURL(a *gateway.Path, field string, f gatewayv1.HTTPURLRewriteFilter) string {
	if f.Hostname != nil {
		return field + ".hostname is not supported"
	}
	switch path := f.Path; {
	case path == nil:
	case path.Type == gatewayv1.PrefixMatchHTTPPathModifier && path.ReplacePrefixMatch != nil:
		prefix := cmp.Or(strings.TrimRight(*path.ReplacePrefixMatch, "/"), "/")
		a.Rewrite.PathPrefix = &prefix
	case path.Type == gatewayv1.FullPathHTTPPathModifier && path.ReplaceFullPath != nil && *path.ReplaceFullPath != "":
		a.Rewrite.Path = *path.ReplaceFullPath
	default:
		return field + ".path: use ReplacePrefixMatch, or ReplaceFullPath with a path"
	}
	return ""
}

func redirectTo(a *gateway.Path, field string, f gatewayv1.HTTPRequestRedirectFilter) string {
	switch {
	case f.Path != nil:
		return field + ".path is not supported"
	case f.Port != nil:
		return field + ".port is not supported"
	case f.Scheme == nil:
		return field + ".scheme: a redirect needs one"
	}
	a.Redirect = &model.Redirect{Scheme: *f.Scheme, StatusCode: 302}
	if f.Hostname != nil {
		a.Redirect.Host = string(*f.Hostname)
	}
	if f.StatusCode != nil {
		a.Redirect.StatusCode = uint16(*f.StatusCode)
	}
	return ""
}
