package requests

import (
	"net/netip"
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// draft is a request while it is put together: its path has no query yet.
type draft struct {
	model.Request
	query []string
}

func (d draft) request() model.Request {
	out := d.Request
	if len(d.query) > 0 {
		out.Path += "?" + strings.Join(d.query, "&")
	}
	return out
}

// dimension is a part of a request, with the values that conditions tell apart. The first is that of a request which no
// condition is about.
type dimension struct {
	name   string
	values []func(*draft)
}

// dimensions returns the parts of requests that matches are about.
func dimensions(matches []model.Match, clients []*model.ClientRanges, protocol model.Protocol) []dimension {
	c := collector{protocol: protocol}
	for _, m := range matches {
		c.add(m)
	}
	c.predicates(matches)
	out := []dimension{c.path(), c.method()}
	if len(c.schemes) > 0 {
		out = append(out, c.scheme())
	}
	for _, name := range c.headerNames {
		out = append(out, c.header(name))
	}
	for _, name := range c.queryNames {
		out = append(out, c.queryParameter(name))
	}
	if len(c.metadata) > 0 {
		out = append(out, c.metadata...)
	}
	if d := clientAddresses(clients); len(d.values) > 1 {
		out = append(out, d)
	}
	return out
}

// collector collects the values in matches.
type collector struct {
	protocol                model.Protocol
	paths, methods, schemes []string
	headerNames, queryNames []string
	headers, query          map[string][]string
	metadata                []dimension
}

func (c *collector) add(m model.Match) {
	c.paths = append(c.paths, paths(m.Path)...)
	if m.Method != "" {
		c.methods = append(c.methods, m.Method)
	}
	if m.Scheme != "" {
		c.schemes = append(c.schemes, strings.ToLower(m.Scheme))
	}
	for _, f := range m.Headers {
		c.addHeader(f)
	}
	if c.query == nil {
		c.query = map[string][]string{}
	}
	for _, f := range m.Query {
		if !slices.Contains(c.queryNames, f.Name) {
			c.queryNames = append(c.queryNames, f.Name)
		}
		c.query[f.Name] = append(c.query[f.Name], fieldValues(f)...)
	}
}

// addHeader adds the condition of a header, or of the part of the request that a pseudo-header names. Hosts are not a
// dimension: callers ask for each host.
func (c *collector) addHeader(f model.FieldMatch) {
	switch name := strings.ToLower(f.Name); name {
	case "host", ":authority":
	case ":path":
		c.paths = append(c.paths, paths(model.StringMatch{Kind: f.Kind, Value: f.Value})...)
	case ":method":
		c.methods = append(c.methods, fieldValues(f)...)
	case ":scheme":
		c.schemes = append(c.schemes, f.Value)
	default:
		if c.headers == nil {
			c.headers = map[string][]string{}
		}
		if !slices.Contains(c.headerNames, name) {
			c.headerNames = append(c.headerNames, name)
		}
		c.headers[name] = append(c.headers[name], fieldValues(f)...)
	}
}

func (c *collector) path() dimension {
	d := dimension{name: "path"}
	all := append([]string{"/" + other, "/"}, c.paths...)
	if c.protocol == model.GRPC {
		all = append([]string{"/" + other + ".Service/Method"}, methodPaths(c.paths)...)
	}
	for _, v := range distinct(all, func(string) bool { return true }) {
		d.values = append(d.values, func(r *draft) { r.Path = v })
	}
	return d
}

// methodPaths returns the paths of gRPC methods among paths, and methods of the services: /SERVICE/METHOD.
func methodPaths(all []string) []string {
	var out []string
	for _, p := range all {
		switch service, method, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/"); {
		case service == "":
		case method == "":
			out = append(out, "/"+service+"/"+other)
		case !strings.Contains(method, "/"):
			out = append(out, p)
		}
	}
	return out
}

// usualMethod returns the method of requests if no condition names one.
func usualMethod(p model.Protocol) string {
	if p == model.GRPC {
		return "POST"
	}
	return "GET"
}

func (c *collector) method() dimension {
	all := []string{usualMethod(c.protocol)}
	if len(c.methods) > 0 && c.protocol != model.GRPC {
		all = append(append(all, c.methods...), "OPTIONS")
	}
	d := dimension{name: "method"}
	for _, v := range distinct(all, token) {
		d.values = append(d.values, func(r *draft) { r.Method = v })
	}
	return d
}

// token reports whether a string is a method (RFC 9110, 9.1), in the letters that methods have in practice.
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return (c < 'A' || c > 'Z') && c != '-' })
}

func (c *collector) scheme() dimension {
	d := dimension{name: "scheme"}
	for _, v := range distinct(append([]string{"http"}, append(c.schemes, "https")...), fieldText) {
		d.values = append(d.values, func(r *draft) {
			switch {
			case r.Protocol != model.HTTP:
				r.Scheme = v
			case v != r.Scheme: // only this header carries the scheme
				r.Headers = append(r.Headers, model.Header{Name: "X-Forwarded-Proto", Value: v})
			}
		})
	}
	return d
}

func (c *collector) header(name string) dimension {
	d := dimension{name: "header " + name, values: []func(*draft){func(*draft) {}}}
	for _, v := range distinct(append(c.headers[name], other), fieldText) {
		d.values = append(d.values, func(r *draft) { r.Headers = append(r.Headers, model.Header{Name: name, Value: v}) })
	}
	return d
}

func (c *collector) queryParameter(name string) dimension {
	d := dimension{name: "query parameter " + name, values: []func(*draft){func(*draft) {}}}
	for _, v := range distinct(append(c.query[name], other), queryText) {
		d.values = append(d.values, func(r *draft) { r.query = append(r.query, name+"="+v) })
	}
	return d
}

// clientAddresses returns an address inside and one outside of each range.
func clientAddresses(all []*model.ClientRanges) dimension {
	var addresses []netip.Addr
	for _, c := range all {
		if c == nil {
			continue
		}
		for _, p := range slices.Concat(c.Allowed, c.Denied) {
			addresses = append(addresses, p.Masked().Addr().Next())
			if before := p.Masked().Addr().Prev(); before.IsValid() {
				addresses = append(addresses, before)
			}
		}
	}
	d := dimension{name: "client", values: []func(*draft){func(*draft) {}}}
	for i, a := range addresses {
		if a.IsValid() && !slices.Contains(addresses[:i], a) {
			d.values = append(d.values, func(r *draft) { r.Client = a })
		}
	}
	return d
}
