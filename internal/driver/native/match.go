package native

import (
	"regexp"
	"strings"

	"anymesh.dev/anymesh/model"
)

// object is an object of JSON.
type object = map[string]any

func op(name, path string, value any) object { return object{"op": name, "path": path, "value": value} }

func all(of ...any) object { return object{"op": "and", "apply": of} }

func anyOf(of ...any) object { return object{"op": "or", "apply": of} }

func not(of any) object { return object{"op": "not", "apply": []any{of}} }

// predicateOf returns the predicate of a match; nil if that matches everything. It reports false for a match that the
// proxy cannot evaluate: the features of such matches are not supported, so that they have findings.
func predicateOf(m model.Match) (any, bool) {
	if len(m.Hosts) > 0 || m.Scheme != "" || len(m.Query) > 0 {
		return nil, false
	}
	var parts []any
	if m.Method != "" {
		parts = append(parts, op("test", "/HTTP/method", m.Method))
	}
	if m.Path.Kind != "" {
		path, ok := pathPredicate(m.Path)
		if !ok {
			return nil, false
		}
		parts = append(parts, path)
	}
	for _, h := range m.Headers {
		header, ok := headerPredicate(h)
		if !ok {
			return nil, false
		}
		parts = append(parts, header)
	}
	if m.Predicate != nil {
		parts = append(parts, jsonPredicate(*m.Predicate))
	}
	switch len(parts) {
	case 0:
		return nil, true
	case 1:
		return parts[0], true
	}
	return all(parts...), true
}

// jsonPredicate returns a predicate of the model with the fields that its operator has.
func jsonPredicate(p model.Predicate) any {
	out := object{"op": p.Op}
	switch p.Op {
	case "and", "or", "not":
		inner := []any{}
		for _, one := range p.Apply {
			inner = append(inner, jsonPredicate(one))
		}
		out["apply"] = inner
		return out
	case "defined", "undefined":
	default:
		out["value"] = p.Value
	}
	out["path"] = p.Path
	if p.IgnoreCase {
		out["ignore_case"] = true
	}
	return out
}

// pathPredicate compares the path of the metadata, which includes the query.
func pathPredicate(m model.StringMatch) (any, bool) {
	const path = "/HTTP/url/path"
	exact := func(v string) []any { return []any{op("test", path, v), op("starts", path, v+"?")} }
	switch m.Kind {
	case model.Exact:
		return anyOf(exact(m.Value)...), !strings.Contains(m.Value, "?")
	case model.Prefix:
		return op("starts", path, m.Value), !strings.Contains(m.Value, "?")
	case model.PathPrefix:
		v := strings.TrimSuffix(m.Value, "/")
		return anyOf(append(exact(v), op("starts", path, v+"/"))...), !strings.Contains(v, "?")
	}
	return nil, false
}

// pseudoHeaders are where the metadata have the values of pseudo-headers and of the host.
var pseudoHeaders = map[string]string{
	":method": "/HTTP/method", ":path": "/HTTP/url/path", ":scheme": "/HTTP/scheme",
	":authority": "/HTTP/headers/host",
}

// headerPredicate compares a header. Host names ignore case. If the comparison is inverted, an absent header counts as
// empty.
func headerPredicate(m model.FieldMatch) (any, bool) {
	path := pseudoHeaders[strings.ToLower(m.Name)]
	if path == "" {
		path = "/HTTP/headers/" + strings.ToLower(m.Name)
	}
	var out object
	empty := m.Value == ""
	switch m.Kind {
	case model.Exact:
		out = op("test", path, m.Value)
	case model.Prefix:
		out = op("starts", path, m.Value)
	case model.Suffix:
		out = op("ends", path, m.Value)
	case model.Regex:
		whole, err := regexp.Compile(`\A(?:` + m.Value + `)\z`)
		if err != nil {
			return nil, false
		}
		out, empty = op("matches", path, whole.String()), whole.MatchString("")
	case model.Present:
		out, empty = object{"op": "defined", "path": path}, false
	default:
		return nil, false
	}
	if m.IsHost() && m.Kind != model.Present {
		out["ignore_case"] = true
	}
	switch {
	case !m.Invert:
		return out, true
	case empty:
		return all(object{"op": "defined", "path": path}, not(out)), true
	}
	return not(out), true
}
