package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// canonicalPath returns the canonical form of a request target, which is matched and forwarded. Different spellings of
// a path cannot bypass a route: backslashes become slashes, percent-encoding is normalized, then dot segments are
// removed (RFC 3986, 6.2.2), then repeated slashes are merged. Segments may have parameters ("..;x" is a dot segment).
// Escaped slashes stay escaped, and the query is unchanged. It reports false if the path contains an escaped NUL or
// bytes that are invalid in a URL.
func canonicalPath(target string) (string, bool) {
	if target == "" || target[0] != '/' {
		return target, true
	}
	if strings.ContainsFunc(target, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }) {
		return "", false
	}
	path, query, hasQuery := strings.Cut(target, "?")
	path, ok := escape(path)
	if !ok {
		return "", false
	}
	path = mergeSlashes(resolveDots(path))
	if hasQuery {
		path += "?" + query
	}
	return path, true
}

// escape decodes escaped unreserved characters, unless the result completes a broken escape before them, and escapes
// the ASCII characters that are invalid in a URL. It reports false for an escaped NUL.
func escape(path string) (string, bool) {
	var out []byte
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) {
			n, err := strconv.ParseUint(path[i+1:i+3], 16, 8)
			switch {
			case err == nil && n == 0:
				return "", false
			case err == nil && unreserved(byte(n)) && !slices.Contains(out[max(0, len(out)-2):], '%'):
				c = byte(n)
				i += 2
			}
		}
		switch {
		case c == '\\':
			out = append(out, '/')
		case strings.IndexByte("\"<>^`{|}", c) >= 0:
			out = fmt.Appendf(out, "%%%02X", c)
		default:
			out = append(out, c)
		}
	}
	return string(out), true
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// resolveDots removes "." segments, and ".." segments together with the one before, which may be empty.
func resolveDots(path string) string {
	segments := strings.Split(path[1:], "/")
	var out []string
	for i, segment := range segments {
		bare, _, _ := strings.Cut(segment, ";")
		if bare != "." && bare != ".." {
			out = append(out, segment)
			continue
		}
		if bare == ".." && len(out) > 0 {
			out = out[:len(out)-1]
		}
		if i == len(segments)-1 {
			out = append(out, "") // "/a/." becomes "/a/"
		}
	}
	return "/" + strings.Join(out, "/")
}

func mergeSlashes(path string) string {
	var out strings.Builder
	for i := range len(path) {
		if path[i] != '/' || i == 0 || path[i-1] != '/' {
			out.WriteByte(path[i])
		}
	}
	return out.String()
}

// canonicalHost removes the dot at the end of an absolute host name, before a port if there is one: "a.:80" is "a:80".
func canonicalHost(host string) string {
	name, port, hasPort := strings.Cut(host, ":")
	if hasPort && strings.Contains(port, ":") {
		return host // an IPv6 address
	}
	return strings.TrimSuffix(name, ".") + strings.TrimPrefix(host, name)
}

// canonical replaces path and host by their canonical forms, which are matched and forwarded. It reports false if the
// path has none.
func (d *Decision) canonical() bool {
	d.Request.Host = canonicalHost(d.Request.Host)
	path, ok := canonicalPath(d.Request.Path)
	if !ok {
		d.step(Origin{}, "path %q has no canonical form", d.Request.Path)
		d.Outcome = Malformed
		return false
	}
	d.Request.Path = path
	return true
}
