package httpforward

import (
	"bytes"
	"strings"
	"unsafe"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/h2"
	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/internal/proxy/metadata"
)

// text returns a string that is valid as long as the head of the request.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Lookup implements metadata.Document. Values of the request refer to its head.
func (c *conn) Lookup(p metadata.Path) metadata.Value {
	if len(p) < 2 || p[0] != "HTTP" {
		if len(p) == 0 || p[0] == "HTTP" {
			return c.Tree().Lookup(p)
		}
		return metadata.At(c.base, p)
	}
	switch p[1] {
	case "method":
		return leaf(p[2:], text(c.request.Method))
	case "version":
		return leaf(p[2:], c.version())
	case "scheme":
		return leaf(p[2:], c.scheme())
	case "client":
		if c.s.Forwarded != "" {
			return leaf(p[2:], c.origin)
		}
	case "headers":
		if len(p) == 2 {
			return metadata.Of(headers(&c.request))
		}
		value, has := c.header(p[2])
		if !has {
			return metadata.Value{}
		}
		return leaf(p[3:], value)
	case "url":
		if len(p) == 2 {
			return metadata.Of(url(&c.request))
		}
		switch p[2] {
		case "path", "url", "href":
			return leaf(p[3:], text(c.request.Target))
		case "query":
			_, query, has := bytes.Cut(c.request.Target, []byte{'?'})
			if !has {
				return metadata.Of(nil)
			}
			return leaf(p[3:], text(query))
		case "pathname":
			pathname, _, _ := bytes.Cut(c.request.Target, []byte{'?'})
			return leaf(p[3:], text(pathname))
		case "params":
			return param(text(c.request.Target), p[3:])
		case "protocol", "host", "port":
			return leaf(p[3:], "")
		}
	}
	return metadata.Value{}
}

// leaf returns a string, which has nothing below it.
func leaf(rest metadata.Path, s string) metadata.Value {
	if len(rest) > 0 {
		return metadata.Value{}
	}
	return metadata.Text(s)
}

// param returns the first value of a parameter of the query, whose name may have slashes, or all of them.
func param(target string, name metadata.Path) metadata.Value {
	if len(name) == 0 {
		return metadata.Of(params(target))
	}
	_, query, _ := strings.Cut(target, "?")
	wanted := name[0]
	if len(name) > 1 {
		wanted = strings.Join(name, "/")
	}
	for one := range strings.SplitSeq(query, "&") {
		if key, value, _ := strings.Cut(one, "="); key == wanted && one != "" {
			return metadata.Text(value)
		}
	}
	return metadata.Value{}
}

// params returns the first value of each parameter of the query, as it was sent.
func params(target string) map[string]any {
	all := map[string]any{}
	_, query, _ := strings.Cut(target, "?")
	for one := range strings.SplitSeq(query, "&") {
		if key, value, _ := strings.Cut(one, "="); one != "" && all[key] == nil {
			all[strings.Clone(key)] = strings.Clone(value)
		}
	}
	return all
}

// scheme returns the scheme of the request. With HTTP/1, only a proxy before this one may tell it.
func (c *conn) scheme() string {
	if s, is := c.client.(*h2.Stream); is {
		return s.Scheme()
	}
	if told, _ := c.header("x-forwarded-proto"); strings.EqualFold(told, "http") || strings.EqualFold(told, "https") {
		return told
	}
	if c.base["TLS"] != nil {
		return "https"
	}
	return "http"
}

func (c *conn) version() string {
	if c.stream {
		return "2.0"
	}
	return version(c.request.Minor)
}

func version(minor int) string {
	if minor == 0 {
		return "1.0"
	}
	return "1.1"
}

// header returns the value of a field by its name in lower case. The values of a repeated field are joined.
func (c *conn) header(name string) (value string, has bool) {
	for i := range c.request.Fields {
		f := &c.request.Fields[i]
		if !bytes.EqualFold(f.Name, unsafe.Slice(unsafe.StringData(name), len(name))) {
			continue
		}
		if has {
			value += ", " + text(f.Value)
			continue
		}
		value, has = text(f.Value), true
	}
	return value, has
}

// Tree implements metadata.Document.
func (c *conn) Tree() metadata.Tree {
	root := config.Copy(c.base).(map[string]any)
	head := Metadata(&c.request)
	head["version"], head["scheme"] = c.version(), c.scheme()
	if c.s.Forwarded != "" {
		head["client"] = c.origin
	}
	root["HTTP"] = head
	return metadata.Tree{Root: root}
}

// Rewritten implements object.Rewritten: further rules see the rewritten path in all of its forms. With canonical
// paths, it is canonical again.
func (c *conn) Rewritten(copied *metadata.Tree) error {
	target := copied.Lookup(metadata.Path{"HTTP", "url", "path"}).Text
	if c.s.Canonical && strings.HasPrefix(target, "/") {
		canonical, err := http1.CanonicalTarget([]byte(target))
		if err != nil {
			return err
		}
		target = string(canonical)
	}
	return copied.Set(metadata.Path{"HTTP", "url"}, urlOf(target))
}

func url(r *http1.Request) map[string]any { return urlOf(string(r.Target)) }

func urlOf(target string) map[string]any {
	url := map[string]any{
		"url": target, "href": target, "protocol": "", "host": "", "port": "", "path": target, "pathname": target, "query": nil,
	}
	if pathname, query, has := strings.Cut(target, "?"); has {
		url["pathname"], url["query"], url["params"] = pathname, query, params(target)
	}
	return url
}

func headers(r *http1.Request) map[string]any {
	all := map[string]any{}
	for _, f := range r.Fields {
		name := strings.ToLower(string(f.Name))
		if before, has := all[name]; has {
			all[name] = before.(string) + ", " + string(f.Value)
		} else {
			all[name] = string(f.Value)
		}
	}
	return all
}

// Metadata returns the metadata of a request.
func Metadata(r *http1.Request) map[string]any {
	return map[string]any{
		"version": version(r.Minor), "method": string(r.Method), "url": url(r), "headers": headers(r),
	}
}
