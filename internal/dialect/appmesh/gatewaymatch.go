package appmesh

import (
	"regexp"
	"strings"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// gatewayMatch returns the conditions of an HTTP route of a gateway and the port that it is restricted to. It reports
// invalid conditions as findings and returns false.
func (t *translator) gatewayMatch(at model.Origin,
	m api.HTTPGatewayRouteMatch) (out model.Match, port uint16, ok bool) {
	ok = true
	switch {
	case m.Prefix != nil || m.Path != nil:
		out.Path, ok = t.pathMatch(at, m.Prefix, m.Path)
	case m.Hostname == nil:
		t.report(at, model.CodeInvalidField, "prefix, path or hostname is required")
		ok = false
	}
	hosts, hostsOK := t.hostMatch(at.At(at.Path+".hostname"), m.Hostname)
	headers, headersOK := t.fieldMatches(at.At(at.Path+".headers"), m.Headers)
	port, portOK := t.matchPort(at.At(at.Path+".port"), m.Port)
	out.Hosts, out.Headers, out.Query, out.Method = hosts, headers, queryMatches(m.QueryParameters),
		string(deref(m.Method))
	return out, port, ok && hostsOK && headersOK && portOK
}

// hostSuffix is the syntax of the end of a host name, of at most 253 characters.
var hostSuffix = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// hostMatch returns the host names that a route matches; none means all.
func (t *translator) hostMatch(at model.Origin, m *api.GatewayRouteHostnameMatch) ([]string, bool) {
	switch {
	case m == nil:
		return nil, true
	case (m.Exact == nil) == (m.Suffix == nil):
		t.report(at, model.CodeInvalidField, "exactly one of exact and suffix is required")
	case m.Exact != nil && (len(*m.Exact) > 253 || !hostName.MatchString(*m.Exact)):
		t.report(at.At(at.Path+".exact"), model.CodeInvalidField, "%q is not a host name", *m.Exact)
	case m.Exact != nil:
		return []string{*m.Exact}, true
	case len(*m.Suffix) > 253 || !hostSuffix.MatchString(*m.Suffix):
		t.report(at.At(at.Path+".suffix"), model.CodeInvalidField, "%q is not the end of a host name", *m.Suffix)
	default:
		return []string{"*" + *m.Suffix}, true
	}
	return nil, false
}

// pathRewrite returns the rewrite of paths. By default, a prefix that matched is replaced by "/". Paths that matched
// exactly or by an expression stay, unless rewrite.path replaces them.
func (t *translator) pathRewrite(at model.Origin, r api.HTTPGatewayRouteRewrite,
	match model.StringMatch) *model.Rewrite {
	out := &model.Rewrite{}
	if r.Path != nil && r.Path.Exact != nil {
		if r.Prefix != nil {
			t.report(at, model.CodeInvalidField, "prefix and path are set; only one is allowed; path is used")
		}
		out.Path = *r.Path.Exact
		if !strings.HasPrefix(out.Path, "/") {
			t.report(at.At(at.Path+".path.exact"), model.CodeInvalidField, "%q does not start with /; the path is not replaced",
				out.Path)
			out.Path = ""
		}
		return out
	}
	if match.Kind != model.Prefix {
		if r.Prefix != nil {
			t.warn(at.At(at.Path+".prefix"), model.CodeInvalidField, "has no effect without match.prefix")
		}
		return out
	}
	value := "/"
	if p := r.Prefix; p != nil {
		switch {
		case p.Value != nil && p.DefaultPrefix != nil:
			t.report(at.At(at.Path+".prefix"), model.CodeInvalidField,
				"defaultPrefix and value are set; only one is allowed; value is used")
			value = *p.Value
		case p.Value != nil:
			value = *p.Value
		case deref(p.DefaultPrefix) == api.RewriteDisabled:
			return out
		}
	}
	if !strings.HasPrefix(value, "/") {
		t.report(at.At(at.Path+".prefix.value"), model.CodeInvalidField, "%q does not start with /; the prefix is not replaced",
			value)
		return out
	}
	if value != match.Value {
		out.PathPrefix = &value
	}
	return out
}

// rewritesHost reports whether the host name becomes that of the VirtualService, which is the default.
func rewritesHost(r *api.GatewayRouteHostnameRewrite) bool {
	return r == nil || deref(r.DefaultTargetHostname) != api.RewriteDisabled
}

func withoutEmptyRewrite(a model.Action) model.Action {
	if w := a.Rewrite; w != nil && w.Host == "" && w.Path == "" && w.PathPrefix == nil {
		a.Rewrite = nil
	}
	return a
}
