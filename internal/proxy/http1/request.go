package http1

import "bytes"

// Request is the head of a request. Its slices refer to the parsed data.
type Request struct {
	head
	Method []byte
	// Target is the path and query, beginning with a slash, or "*" for OPTIONS.
	Target []byte
	// Host is the value of the field Host; empty in HTTP/1.0 without it.
	Host []byte
	// Canonical makes Parse replace the path and the host by their canonical forms, and not refuse dot segments.
	Canonical bool
	// Expect tells that the client waits for 100 Continue before it sends the body.
	Expect bool
}

// Parse parses the head at the start of the data and returns its size; 0 if it is not complete. Before from, which is
// the size of the data in the previous call, there is no end of the head.
func (r *Request) Parse(data []byte, from int, l Limits) (int, error) {
	size, err := headEnd(data, from, l)
	if size == 0 {
		return 0, err
	}
	first, rest, err := line(data[:size])
	if err != nil {
		return 0, err
	}
	absolute, err := r.parseLine(first)
	if err != nil {
		return 0, err
	}
	if err := r.parseFields(rest, l); err != nil {
		return 0, err
	}
	if r.host == nil && r.Minor == 1 {
		return 0, errHostMissing
	}
	if absolute != nil && !bytes.EqualFold(absolute, r.host) {
		return 0, errHost
	}
	if r.Canonical {
		r.setHost(canonicalHost(r.host))
	}
	r.Host, r.Expect = r.host, r.expect && r.Minor == 1
	return size, nil
}

// parseLine parses the request line. It returns the host of a target in absolute form.
func (r *Request) parseLine(text []byte) (host []byte, err error) {
	space := bytes.IndexByte(text, ' ')
	if space < 1 || !all(text[:space], tokenByte) {
		return nil, errRequestLine
	}
	r.Method, text = text[:space], text[space+1:]
	space = bytes.IndexByte(text, ' ')
	if space < 1 {
		return nil, errRequestLine
	}
	r.Target = text[:space]
	if r.Minor, err = version(text[space+1:]); err != nil {
		return nil, err
	}
	if string(r.Method) == "CONNECT" {
		return nil, errMethod
	}
	if !r.Canonical && !all(r.Target, targetByte) || r.Canonical && bytes.ContainsFunc(r.Target, invalid) {
		return nil, errTarget
	}
	if r.Target[0] != '/' {
		if len(r.Target) == 1 && r.Target[0] == '*' {
			if string(r.Method) != "OPTIONS" {
				return nil, errTarget
			}
			return nil, nil
		}
		if host, err = r.absolute(); err != nil {
			return nil, err
		}
	}
	if r.Canonical {
		r.Target, err = CanonicalTarget(r.Target)
		return host, err
	}
	return host, checkPath(r.Target)
}

// invalid reports whether a character is in no request target, canonical or not.
func invalid(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }

// setHost replaces the value of the field Host.
func (r *Request) setHost(host []byte) {
	if len(host) == len(r.host) {
		return
	}
	r.host = host
	for i := range r.Fields {
		if is(r.Fields[i].Name, "host") {
			r.Fields[i].Value = host
		}
	}
}

// version parses HTTP/1.0 and HTTP/1.1.
func version(text []byte) (minor int, err error) {
	switch string(text) {
	case "HTTP/1.1":
		return 1, nil
	case "HTTP/1.0":
		return 0, nil
	}
	if len(text) == 8 && string(text[:5]) == "HTTP/" && text[6] == '.' {
		return 0, errVersion
	}
	return 0, errRequestLine
}

// absolute makes the path and query of a target in absolute form the target, and returns the host.
func (r *Request) absolute() (host []byte, err error) {
	const scheme = "http://"
	if len(r.Target) <= len(scheme) || !is(r.Target[:len(scheme)], scheme) {
		return nil, errTarget
	}
	rest := r.Target[len(scheme):]
	slash := bytes.IndexByte(rest, '/')
	if slash < 1 || !all(rest[:slash], hostByte) {
		return nil, errTarget
	}
	r.Target = rest[slash:]
	return rest[:slash], nil
}

// checkPath refuses paths that servers may read as other paths: dot segments, also encoded, backslashes and encoded
// control characters; and percent signs that encode nothing.
func checkPath(target []byte) error {
	path, _, _ := bytes.Cut(target, []byte{'?'})
	if bytes.IndexByte(path, '%') < 0 && bytes.IndexByte(path, '.') < 0 {
		return nil
	}
	dots, other := 0, false // in the current segment
	end := func() bool { return !other && (dots == 1 || dots == 2) }
	for i := 0; i < len(path); i++ {
		b := path[i]
		if b == '%' {
			if i+2 >= len(path) || class[path[i+1]]&class[path[i+2]]&hexByte == 0 {
				return errPath
			}
			b = unhex(path[i+1])<<4 | unhex(path[i+2])
			i += 2
			if b < ' ' || b == 0x7f || b == '\\' {
				return errPath
			}
		}
		switch b {
		case '/', ';': // some servers end a segment at a semicolon
			if end() {
				return errPath
			}
			if b == '/' {
				dots, other = 0, false
			} else {
				other = true
			}
		case '.':
			dots++
		default:
			other = true
		}
	}
	if end() {
		return errPath
	}
	return nil
}

func unhex(b byte) byte {
	if b <= '9' {
		return b - '0'
	}
	return b | 0x20 - 'a' + 10
}
