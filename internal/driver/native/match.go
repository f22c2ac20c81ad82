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
	var parts []any
	if len(m.Hosts) > 0 {
		parts = append(parts, hostPredicate(m.Hosts))
	}
	if m.Scheme != "" {
		scheme := op("test", "/HTTP/scheme", m.Scheme)
		scheme["ignore_case"] = true
		parts = append(parts, scheme)
	}
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
	for _, q := range m.Query {
		parameter, ok := fieldPredicate("/HTTP/url/params/"+q.Name, q, false)
		if !ok || strings.Trim(q.Name, "/") != q.Name { // paths ignore slashes at both ends
			return nil, false
		}
		parts = append(parts, parameter)
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

// hostPredicate matches requests for one of some hosts, with any port or none. "*.domain" is a suffix.
func hostPredicate(hosts []string) any {
	var patterns []string
	for _, h := range hosts {
		suffix, wildcard := strings.CutPrefix(h, "*")
		pattern := regexp.QuoteMeta(suffix)
		if wildcard {
			pattern = "[^:]+" + pattern
		}
		patterns = append(patterns, pattern)
	}
	out := op("matches", "/HTTP/headers/host", `\A(?:`+strings.Join(patterns, "|")+`)(?::.*)?\z`)
	out["ignore_case"] = true
	return out
}

// pathPredicate compares the path of the metadata, which includes the query, or the one without it: proxies of l7mp
// have the former only.
func pathPredicate(m model.StringMatch) (any, bool) {
	const path, withoutQuery = "/HTTP/url/path", "/HTTP/url/pathname"
	exact := func(v string) []any { return []any{op("test", path, v), op("starts", path, v+"?")} }
	switch m.Kind {
	case model.Exact:
		return anyOf(exact(m.Value)...), !strings.Contains(m.Value, "?")
	case model.Prefix:
		return op("starts", path, m.Value), !strings.Contains(m.Value, "?")
	case model.PathPrefix:
		v := strings.TrimSuffix(m.Value, "/")
		return anyOf(append(exact(v), op("starts", path, v+"/"))...), !strings.Contains(v, "?")
	case model.Suffix:
		return op("ends", withoutQuery, m.Value), true
	case model.Regex:
		whole, err := regexp.Compile(`\A(?:` + m.Value + `)\z`)
		if err != nil {
			return nil, false
		}
		return op("matches", withoutQuery, whole.String()), true
	}
	return nil, false
}

// pseudoHeaders are where the metadata have the values of pseudo-headers and of the host.
var pseudoHeaders = map[string]string{
	":method": "/HTTP/method", ":path": "/HTTP/url/path", ":scheme": "/HTTP/scheme",
	":authority": "/HTTP/headers/host",
}

// headerPredicate compares a header. Host names ignore case.
func headerPredicate(m model.FieldMatch) (any, bool) {
	path := pseudoHeaders[strings.ToLower(m.Name)]
	if path == "" {
		path = "/HTTP/headers/" + strings.ToLower(m.Name)
	}
	return fieldPredicate(path, m, m.IsHost() && m.Kind != model.Present)
}

// maxInteger is the greatest integer that a number of JSON has exactly.
const maxInteger = 1 << 53

// fieldPredicate compares a header or a parameter of the query. If the comparison is inverted, an absent one counts as
// empty.
func fieldPredicate(path string, m model.FieldMatch, ignoreCase bool) (any, bool) {
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
	case model.Range:
		if min(m.Start, m.End) < -maxInteger || max(m.Start, m.End) > maxInteger {
			return nil, false
		}
		out, empty = op("range", path, []any{float64(m.Start), float64(m.End)}), false
	default:
		return nil, false
	}
	if ignoreCase {
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
