package model

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Matches reports whether a canonical request matches.
func (m Match) Matches(r Request) bool {
	target, query, _ := strings.Cut(r.Path, "?")
	return (len(m.Hosts) == 0 || slices.ContainsFunc(m.Hosts, func(h string) bool { return hostMatches(h, r.Host) })) &&
		m.Path.matches(target) &&
		(m.Method == "" || m.Method == r.Method) &&
		(m.Scheme == "" || strings.EqualFold(m.Scheme, r.scheme())) &&
		!slices.ContainsFunc(m.Headers, func(f FieldMatch) bool {
			value, present := r.header(f.Name)
			return !f.forHeader().matches(value, present)
		}) &&
		!slices.ContainsFunc(m.Query, func(f FieldMatch) bool { return !f.matches(queryParameter(query, f.Name)) }) &&
		(m.Predicate == nil || m.Predicate.Matches(r.Metadata))
}

func hostMatches(pattern, host string) bool {
	host, _, _ = strings.Cut(strings.ToLower(host), ":")
	pattern = strings.ToLower(pattern)
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(host, suffix) && len(host) > len(suffix)
	}
	return pattern == host
}

func (m StringMatch) matches(s string) bool {
	switch m.Kind {
	case "":
		return true
	case Exact:
		return s == m.Value
	case Prefix:
		return strings.HasPrefix(s, m.Value)
	case PathPrefix:
		elements := m.PathElements()
		return s == elements || strings.HasPrefix(s, elements+"/")
	case Suffix:
		return strings.HasSuffix(s, m.Value)
	case Regex:
		re, err := regexp.Compile(`\A(?:` + m.Value + `)\z`)
		return err == nil && re.MatchString(s)
	}
	return false
}

// PathElements returns the elements that a match of kind PathPrefix compares, without trailing slashes. It is empty for
// "/", which matches every path.
func (m StringMatch) PathElements() string { return strings.TrimRight(m.Value, "/") }

// IsHost reports whether the field of a request's header is its host name, which ignores case (RFC 3986, 3.2.2).
func (f FieldMatch) IsHost() bool {
	return strings.EqualFold(f.Name, "host") || strings.EqualFold(f.Name, ":authority")
}

// forHeader returns the comparison for the value that Request.header returns: host names are in lower case.
func (f FieldMatch) forHeader() FieldMatch {
	switch {
	case !f.IsHost():
	case f.Kind == Regex:
		f.Value = "(?i:" + f.Value + ")"
	default:
		f.Value = strings.ToLower(f.Value)
	}
	return f
}

// matches compares a field's value. An absent field counts as empty if the comparison is inverted; otherwise it does
// not match.
func (f FieldMatch) matches(value string, present bool) bool {
	var ok bool
	switch {
	case f.Kind == Present:
		ok = present
	case !present && !f.Invert:
	case f.Kind == Range:
		n, err := strconv.ParseInt(value, 10, 64)
		ok = err == nil && f.Start <= n && n < f.End
	default:
		ok = StringMatch{Kind: f.Kind, Value: f.Value}.matches(value)
	}
	return ok != f.Invert
}

// header returns a header's value. Several fields with one name are joined by commas (RFC 9110, 5.3). Pseudo-headers of
// HTTP/2 (RFC 9113, 8.3.1) have values in HTTP/1.1, too. Host is the same field as :authority, here in lower case.
func (r Request) header(name string) (string, bool) {
	switch strings.ToLower(name) {
	case "host", ":authority":
		return strings.ToLower(r.Host), r.Host != ""
	case ":method":
		return r.Method, r.Method != ""
	case ":path":
		return r.Path, r.Path != ""
	case ":scheme":
		scheme := r.scheme()
		return scheme, scheme != ""
	}
	var values []string
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, name) {
			values = append(values, h.Value)
		}
	}
	return strings.Join(values, ","), len(values) > 0
}

// forwardedProto is the header with the scheme that a client used to the first proxy.
const forwardedProto = "x-forwarded-proto"

// scheme returns the scheme of the request. HTTP/1.1 requests carry it only in X-Forwarded-Proto.
func (r Request) scheme() string {
	scheme, _ := r.header(forwardedProto)
	if r.Protocol == HTTP && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		return scheme
	}
	return r.Scheme
}

// queryParameter returns the first value of a parameter, without decoding it.
func queryParameter(query, name string) (string, bool) {
	for part := range strings.SplitSeq(query, "&") {
		if key, value, _ := strings.Cut(part, "="); key == name && part != "" {
			return value, true
		}
	}
	return "", false
}

// apply rewrites a request that a route with the given path match has matched. A nil Rewrite changes nothing.
func (w *Rewrite) apply(r Request, matched StringMatch) Request {
	if w == nil {
		return r
	}
	if w.Host != "" {
		r.Host = w.Host
	}
	target, query, hasQuery := strings.Cut(r.Path, "?")
	switch {
	case w.Path != "":
		target = w.Path
	case w.PathPrefix != nil && matched.Kind == Prefix:
		target = *w.PathPrefix + strings.TrimPrefix(target, matched.Value)
	case w.PathPrefix != nil && matched.Kind == PathPrefix:
		rest := strings.TrimPrefix(target, matched.PathElements())
		target = cmp.Or(strings.TrimRight(*w.PathPrefix, "/")+rest, "/")
	}
	if hasQuery {
		target += "?" + query
	}
	r.Path = target
	if len(w.Headers) > 0 {
		replaced := func(h Header) bool {
			return slices.ContainsFunc(w.Headers, func(n Header) bool { return strings.EqualFold(n.Name, h.Name) })
		}
		r.Headers = append(slices.DeleteFunc(slices.Clone(r.Headers), replaced), w.Headers...)
	}
	for _, set := range w.Metadata {
		r = r.WithMetadata(set.Path, set.Value)
	}
	return r
}

// WithMetadata returns the request with a value at a slash-separated path of a copy of its metadata.
func (r Request) WithMetadata(path string, value any) Request {
	steps := strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
	r.Metadata = withMetadata(r.Metadata, steps, value)
	return r
}

// withMetadata sets a value in a copy of the metadata. It creates missing objects of the path.
func withMetadata(object map[string]any, steps []string, value any) map[string]any {
	if len(steps) == 0 {
		if whole, ok := value.(map[string]any); ok {
			return whole
		}
		return object
	}
	out := make(map[string]any, len(object)+1)
	for k, v := range object {
		out[k] = v
	}
	if len(steps) == 1 {
		out[steps[0]] = value
	} else {
		inner, _ := out[steps[0]].(map[string]any)
		out[steps[0]] = withMetadata(inner, steps[1:], value)
	}
	return out
}
