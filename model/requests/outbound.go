package requests

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// Set is a list of requests.
type Set struct {
	Requests []model.Request
	// Partial names the hosts for which there are more combinations of conditions than requests.
	Partial []string
}

// undeclaredHost is a host name that no configuration declares, and undeclaredAddress such an address (RFC 5737).
const undeclaredHost = other + ".example"

var undeclaredAddress = netip.MustParseAddr("192.0.2.1")

// Outbound returns the requests of the application of a workload that its views tell apart, by port and host. A request
// without an address goes to the address of its host.
func Outbound(views ...*model.View) Set {
	var s Set
	for _, port := range outboundPorts(views) {
		s.outbound(port, views)
	}
	s.undeclared(views)
	return s
}

// outboundPorts lists the ports of services and of egress rules.
func outboundPorts(views []*model.View) []uint16 {
	var all []uint16
	for _, v := range views {
		for _, o := range v.Outbound {
			all = append(all, o.Port)
		}
		for _, e := range v.Workload.EgressRules {
			all = append(all, e.Port)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// declaredHost is a host of a port, with its bindings in each view.
type declaredHost struct {
	name     string
	bindings []*model.Binding
}

// like identifies hosts with the same bindings.
func (h declaredHost) like() string {
	var b strings.Builder
	for _, binding := range h.bindings {
		fmt.Fprintf(&b, "%p ", binding)
	}
	return b.String()
}

// outbound adds the requests on a port. Of several hosts of the same services, the first gets all requests and the
// others one.
func (s *Set) outbound(port uint16, views []*model.View) {
	seen, hasRequests := map[string]bool{}, false
	for _, h := range declaredHosts(port, views) {
		protocols := h.protocols()
		first := !seen[h.like()]
		seen[h.like()] = true
		for _, p := range protocols {
			if !p.Requests() {
				s.Requests = append(s.Requests, model.Request{Port: port, Protocol: p, Host: h.name})
				continue
			}
			hasRequests = true
			start := draft{Request: model.Request{Port: port, Protocol: p, Host: h.name, Scheme: "http"}}
			routes := h.routes()
			if first || slices.ContainsFunc(routes, aboutHosts) {
				s.add(start, routes, nil, maxProduct)
			} else {
				start.Method, start.Path = usualMethod(p), "/"
				if p == model.GRPC {
					start.Path = "/" + other + ".Service/Method"
				}
				s.Requests = append(s.Requests, start.Request)
			}
		}
	}
	if hasRequests {
		s.Requests = append(s.Requests,
			model.Request{Port: port, Protocol: model.HTTP, Host: undeclaredHost, Method: "GET", Path: "/", Scheme: "http"},
			model.Request{Port: port, Protocol: model.TCP, Host: undeclaredAddress.String(), Address: undeclaredAddress})
	}
}

// add adds the combinations of what routes and further matches are about, all of them if there are at most limit.
func (s *Set) add(start draft, routes []model.Route, more []model.Match, limit int) {
	var matches []model.Match
	var clients []*model.ClientRanges
	for _, r := range routes {
		matches, clients = append(matches, r.Match), append(clients, r.Clients)
	}
	matches = append(matches, more...)
	all, complete := combine(start, dimensions(matches, clients, start.Protocol), matches, limit)
	s.Requests = append(s.Requests, all...)
	if !complete && !slices.Contains(s.Partial, start.Host) {
		s.Partial = append(s.Partial, start.Host)
	}
}

// declaredHosts lists the hosts of services on a port, in the order of the views.
func declaredHosts(port uint16, views []*model.View) []declaredHost {
	var out []declaredHost
	at := map[string]int{}
	for i, v := range views {
		for _, o := range v.Outbound {
			if o.Port != port {
				continue
			}
			for j := range o.Bindings {
				for _, host := range o.Bindings[j].Hosts {
					key := strings.ToLower(host)
					n, known := at[key]
					if !known {
						n = len(out)
						at[key] = n
						out = append(out, declaredHost{host, make([]*model.Binding, len(views))})
					}
					out[n].bindings[i] = &o.Bindings[j]
				}
			}
		}
	}
	return out
}

// protocols lists the protocols of the services, each once.
func (h declaredHost) protocols() []model.Protocol {
	var out []model.Protocol
	for _, b := range h.bindings {
		if b != nil && !slices.Contains(out, b.Protocol) {
			out = append(out, b.Protocol)
		}
	}
	return out
}

func (h declaredHost) routes() []model.Route {
	var out []model.Route
	for _, b := range h.bindings {
		if b != nil {
			out = append(out, b.Routes...)
		}
	}
	return out
}

// aboutHosts reports whether a route has a condition on the host name.
func aboutHosts(r model.Route) bool {
	return len(r.Match.Hosts) > 0 || slices.ContainsFunc(r.Match.Headers, model.FieldMatch.IsHost)
}

// undeclared adds connections to what no service declares: to a port without services, and what egress rules are about.
func (s *Set) undeclared(views []*model.View) {
	stream := func(port uint16, address netip.Addr, serverName string) {
		r := model.Request{
			Port: port, Protocol: model.TCP, Host: address.String(), Address: address, ServerName: serverName,
		}
		if !slices.ContainsFunc(s.Requests, func(o model.Request) bool { return equalStream(o, r) }) {
			s.Requests = append(s.Requests, r)
		}
	}
	used := outboundPorts(views)
	for port := uint16(9); ; port++ { // 9 is the port of the discard protocol
		if !slices.Contains(used, port) {
			stream(port, undeclaredAddress, "")
			break
		}
	}
	for _, v := range views {
		for _, name := range v.Mesh.EgressNames {
			stream(model.EgressNamesPort, undeclaredAddress, within(name))
		}
		for _, e := range v.Workload.EgressRules {
			stream(e.Port, undeclaredAddress, "")
			for _, p := range e.Addresses {
				stream(e.Port, p.Masked().Addr(), "")
			}
			for _, name := range append(slices.Clone(e.ServerNames), undeclaredHost) {
				stream(e.Port, undeclaredAddress, within(name))
			}
		}
	}
	stream(model.EgressNamesPort, undeclaredAddress, undeclaredHost)
}

func equalStream(a, b model.Request) bool {
	return a.Port == b.Port && a.Protocol == b.Protocol && a.Address == b.Address && a.ServerName == b.ServerName
}

// within returns a host name that a pattern matches.
func within(pattern string) string {
	if suffix, is := strings.CutPrefix(pattern, "*"); is {
		return other + suffix
	}
	return pattern
}
