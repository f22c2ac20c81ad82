package http1

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// CanonicalTarget returns the canonical form of a path with query, by RFC 3986, 6.2.2: different spellings of a path
// match the same rules. Backslashes become slashes, percent-encoding is normalized, then dot segments are removed, then
// repeated slashes are merged. Segments may have parameters: "..;x" is a dot segment. Escaped slashes stay escaped, and
// the query is unchanged. The target has no control characters.
func CanonicalTarget(target []byte) ([]byte, error) {
	path, query, hasQuery := bytes.Cut(target, []byte{'?'})
	if isCanonical(path) {
		return target, nil
	}
	escaped, err := escape(path)
	if err != nil {
		return nil, err
	}
	out := mergeSlashes(resolveDots(string(escaped)))
	if hasQuery {
		out += "?" + string(query)
	}
	return []byte(out), nil
}

// isCanonical reports whether a path has nothing to change. It may miss some.
func isCanonical(path []byte) bool {
	for i, b := range path {
		if class[b]&targetByte == 0 || b == '%' || b == '.' && path[i-1] == '/' || b == '/' && i > 0 && path[i-1] == '/' {
			return false
		}
	}
	return true
}

// escape decodes escaped unreserved characters, unless the result completes a broken escape before them, and escapes
// what is invalid in a URL. An escaped NUL is an error.
func escape(path []byte) ([]byte, error) {
	var out []byte
	for i := 0; i < len(path); i++ {
		b := path[i]
		if b == '%' && i+2 < len(path) && class[path[i+1]]&class[path[i+2]]&hexByte != 0 {
			decoded := unhex(path[i+1])<<4 | unhex(path[i+2])
			if decoded == 0 {
				return nil, errPath
			}
			if unreserved(decoded) && !slices.Contains(out[max(0, len(out)-2):], '%') {
				b = decoded
				i += 2
			}
		}
		switch {
		case b == '\\':
			out = append(out, '/')
		case class[b]&targetByte == 0:
			out = fmt.Appendf(out, "%%%02X", b)
		default:
			out = append(out, b)
		}
	}
	return out, nil
}

func unreserved(b byte) bool {
	letter := b|0x20 >= 'a' && b|0x20 <= 'z'
	return letter || b >= '0' && b <= '9' || contains("-._~", b)
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
	out := make([]byte, 0, len(path))
	for i := range len(path) {
		if path[i] != '/' || i == 0 || path[i-1] != '/' {
			out = append(out, path[i])
		}
	}
	return string(out)
}

// canonicalHost returns a host without the dot at the end of an absolute name: "a.:80" is "a:80".
func canonicalHost(host []byte) []byte {
	name, port, _ := bytes.Cut(host, []byte{':'})
	if len(name) == 0 || name[len(name)-1] != '.' || bytes.IndexByte(port, ':') >= 0 {
		return host
	}
	return slices.Concat(name[:len(name)-1], host[len(name):])
}
