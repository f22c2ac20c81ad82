package appmesh

import (
	"fmt"
	"regexp"
	"strings"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// httpMatch returns the conditions of an HTTP route and the port that it is restricted to. It reports invalid
// conditions as findings and returns false.
func (t *translator) httpMatch(at model.Origin, m api.HTTPRouteMatch) (out model.Match, port uint16, ok bool) {
	path, pathOK := t.pathMatch(at, m.Prefix, m.Path)
	headers, headersOK := t.fieldMatches(at.At(at.Path+".headers"), m.Headers)
	port, portOK := t.matchPort(at.At(at.Path+".port"), m.Port)
	out = model.Match{
		Path: path, Headers: headers, Query: queryMatches(m.QueryParameters),
		Method: string(deref(m.Method)), Scheme: string(deref(m.Scheme)),
	}
	return out, port, pathOK && headersOK && portOK
}

// grpcMatch is httpMatch for gRPC: service and method are the path of the request.
func (t *translator) grpcMatch(at model.Origin, m api.GRPCRouteMatch) (out model.Match, port uint16, ok bool) {
	headers, headersOK := t.fieldMatches(at.At(at.Path+".metadata"), m.Metadata)
	port, portOK := t.matchPort(at.At(at.Path+".port"), m.Port)
	out = model.Match{Headers: headers}
	service, method := deref(m.ServiceName), deref(m.MethodName)
	switch {
	case service != "" && method != "":
		out.Path = model.StringMatch{Kind: model.Exact, Value: "/" + service + "/" + method}
	case service != "":
		out.Path = model.StringMatch{Kind: model.Prefix, Value: "/" + service + "/"}
	case method != "":
		t.warn(at.At(at.Path+".methodName"), model.CodeInvalidField, "has no effect without serviceName")
	}
	return out, port, headersOK && portOK
}

func (t *translator) pathMatch(at model.Origin, prefix *string, path *api.PathMatch) (model.StringMatch, bool) {
	var found []model.StringMatch
	var where []string
	if prefix != nil {
		found, where = append(found, model.StringMatch{Kind: model.Prefix, Value: *prefix}), append(where, ".prefix")
	}
	if path != nil && path.Exact != nil {
		found, where = append(found,
			model.StringMatch{Kind: model.Exact, Value: *path.Exact}), append(where, ".path.exact")
	}
	if path != nil && path.Regex != nil {
		found, where = append(found,
			model.StringMatch{Kind: model.Regex, Value: *path.Regex}), append(where, ".path.regex")
	}
	if len(found) != 1 {
		t.report(at, model.CodeInvalidField, "%d of prefix, path.exact and path.regex are set; exactly one is required",
			len(found))
		return model.StringMatch{}, false
	}
	at = at.At(at.Path + where[0])
	if found[0].Kind == model.Regex {
		return found[0], t.regex(at, found[0].Value)
	}
	if !strings.HasPrefix(found[0].Value, "/") {
		t.report(at, model.CodeInvalidField, "%q does not start with /; no path matches", found[0].Value)
		return model.StringMatch{}, false
	}
	return found[0], true
}

// fieldMatches returns the conditions on headers or metadata.
func (t *translator) fieldMatches(at model.Origin, headers []api.HeaderMatch) (out []model.FieldMatch, ok bool) {
	ok = true
	for i, h := range headers {
		f, good := t.fieldMatch(at.At(fmt.Sprintf("%s[%d]", at.Path, i)), h)
		out, ok = append(out, f), ok && good
	}
	return out, ok
}

func (t *translator) fieldMatch(at model.Origin, h api.HeaderMatch) (model.FieldMatch, bool) {
	out := model.FieldMatch{Name: h.Name, Invert: deref(h.Invert)}
	if h.Match == nil {
		out.Kind = model.Present
		return out, true
	}
	count := 0
	for _, m := range []struct {
		kind  model.MatchKind
		value *string
	}{
		{model.Exact, h.Match.Exact}, {model.Prefix, h.Match.Prefix},
		{model.Suffix, h.Match.Suffix}, {model.Regex, h.Match.Regex},
	} {
		if m.value != nil {
			out.Kind, out.Value = m.kind, *m.value
			count++
		}
	}
	if r := h.Match.Range; r != nil {
		out.Kind, out.Start, out.End = model.Range, r.Start, r.End
		count++
	}
	at = at.At(at.Path + ".match")
	switch {
	case count != 1:
		t.report(at, model.CodeInvalidField, "%d of exact, prefix, suffix, regex and range are set; exactly one is required",
			count)
		return out, false
	case out.Kind == model.Regex:
		return out, t.regex(at.At(at.Path+".regex"), out.Value)
	case out.Kind == model.Range && out.Start >= out.End:
		t.report(at.At(at.Path+".range"), model.CodeInvalidField, "the range from %d to %d (exclusive) is empty", out.Start,
			out.End)
		return out, false
	}
	return out, true
}

func queryMatches(params []api.QueryParameterMatch) []model.FieldMatch {
	var out []model.FieldMatch
	for _, p := range params {
		f := model.FieldMatch{Name: p.Name, Kind: model.Present}
		if p.Match != nil && p.Match.Exact != nil {
			f.Kind, f.Value = model.Exact, *p.Match.Exact
		}
		out = append(out, f)
	}
	return out
}

// matchPort returns the port that a route is restricted to, or 0.
func (t *translator) matchPort(at model.Origin, port *int64) (uint16, bool) {
	if p := deref(port); p < 0 || p > 65535 {
		t.report(at, model.CodeInvalidField, "%d is not between 0 and 65535", p)
		return 0, false
	}
	return uint16(deref(port)), true
}

func (t *translator) regex(at model.Origin, expression string) bool {
	if _, err := regexp.Compile(expression); err != nil {
		t.report(at, model.CodeInvalidField, "not an RE2 regular expression: %v", err)
		return false
	}
	return true
}
