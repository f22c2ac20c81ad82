package observe

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/model/requests"
	"anymesh.dev/anymesh/test/cases"
)

// envDerived is the environment variable with the largest number of derived requests of a workload; all means all.
// hack/test.sh sets it for long tests.
const envDerived = "ANYMESH_CONFORMANCE_DERIVED"

// usualDerived is the number of derived requests of a workload without envDerived: each takes some milliseconds.
const usualDerived = 40

// derivedLines returns requests that the view tells apart (package requests) and that a client in the pod or in the
// external network can send. So the sidecar is compared with the interpreter also where the file has no request. lines
// are those of the file.
func derivedLines(view *model.View, workload string, lines []Line) []Line {
	logged := func(l Line) bool { _, is := l.Want[logEntry]; return is || l.HealthCheck }
	if slices.ContainsFunc(lines, logged) || slices.ContainsFunc(view.Needs(), aboutMetadata) {
		return nil // the file has all entries of the log, and metadata are not part of requests
	}
	streams := !slices.ContainsFunc(view.Needs(), limitsConnections)
	sendable := func(r model.Request) bool { return r.Protocol.Requests() || r.Protocol == model.TCP && streams }
	var out []Line
	hosts := addressesOf(view, lines)
	for _, r := range requests.Outbound(view).Requests {
		if view.Gateway {
			break
		}
		if r.Address = hosts.of(r); r.Address.IsValid() && sendable(r) {
			out = append(out, Line{Workload: workload, Host: r.Host, Request: r})
		}
	}
	for _, r := range requests.Inbound(view).Requests {
		if l, is := inboundLine(view, workload, r); is && sendable(r) {
			l.Request.Address = hosts.of(model.Request{Host: r.Host})
			out = append(out, l)
		}
	}
	for i := range out {
		out[i].Derived, out[i].Once, out[i].Number = true, true, 100_000+i
		for _, l := range lines { // endpoints that fail their checks fail them for all requests
			out[i].Request.State.Unhealthy = append(out[i].Request.State.Unhealthy, l.Request.State.Unhealthy...)
		}
	}
	return out
}

// chosen returns every n-th of the derived lines of a case, so that not more than the limit remain.
func chosen(all []Line) []Line {
	limit := usualDerived
	if text := os.Getenv(envDerived); text == "all" {
		return all
	} else if n, err := strconv.Atoi(text); err == nil {
		limit = n
	}
	step := (len(all) + limit - 1) / max(1, limit)
	var out []Line
	for i := 0; i < len(all); i += max(1, step) {
		out = append(out, all[i])
	}
	return out
}

func aboutMetadata(n model.Need) bool { return n.Feature == "route.match.predicate" }

// limitsConnections reports whether open streams count, which they do until both sides have closed them: no client sees
// when that is.
func limitsConnections(n model.Need) bool {
	return n.Feature == "destination.limits" || n.Feature == "listener.circuitBreaker"
}

// inboundLine returns the line of an inbound request. It reports false for clients that the external network does not
// have, for gRPC with TLS, whose client says only that there is no connection, for TLS that the listener forwards as a
// stream, since the servers of a case greet first, and for listeners with rates, which the lines of the file use up, or
// whose certificate nobody serves.
func inboundLine(view *model.View, workload string, r model.Request) (Line, bool) {
	l := Line{Into: true, Workload: workload, Host: r.Host, Request: r}
	l.Request.ServerName = ""
	for _, in := range view.Inbound {
		limited := in.Listener.ConnectionRate != nil || len(in.Listener.RequestRates) > 0
		tls := in.Listener.TLS
		unknown := tls != nil && tls.Certificate != nil && strings.HasSuffix(tls.Certificate.Secret.Name, unknownSecret)
		forwarded := tls == nil && r.TLS != nil && !r.Protocol.Requests()
		if in.Listener.Port == r.Port && (limited || unknown || forwarded) {
			return l, false
		}
	}
	if r.Client.IsValid() || r.TLS != nil && r.Protocol == model.GRPC {
		return l, false
	}
	if r.TLS != nil && len(r.TLS.Names) > 0 {
		l.Certificate = r.TLS.Names[0]
		known := contentOf(l.Certificate)
		if known.Authority != r.TLS.Authority || !slices.Equal(known.Names, r.TLS.Names) {
			return l, false
		}
	}
	return l, true
}

// hostAddresses are the external addresses of hosts.
type hostAddresses struct {
	view  *model.View
	known map[string]netip.Addr
	next  netip.Addr
}

func addressesOf(view *model.View, lines []Line) *hostAddresses {
	h := &hostAddresses{view: view, known: map[string]netip.Addr{}, next: hostNetwork.Addr()}
	for _, l := range lines {
		if a := l.Request.Address; hostNetwork.Contains(a) {
			h.known[l.Host] = a
			if h.next.Less(a) {
				h.next = a
			}
		}
	}
	return h
}

// of returns the address of a request: that of its service, if this has addresses, or one of its host. It is invalid if
// the external network does not have it.
func (h *hostAddresses) of(r model.Request) netip.Addr {
	if r.Address.IsValid() {
		return netip.Addr{}
	}
	for _, o := range h.view.Outbound {
		for _, b := range o.Bindings {
			if o.Port != r.Port || !slices.Contains(b.Hosts, r.Host) || len(b.Addresses) == 0 {
				continue
			}
			for _, a := range b.Addresses {
				if hostNetwork.Contains(a) {
					return a
				}
			}
			if b.MatchAddress {
				return netip.Addr{}
			}
		}
	}
	if !h.known[r.Host].IsValid() {
		h.next = h.next.Next()
		h.known[r.Host] = h.next
	}
	return h.known[r.Host]
}

// String describes a line of a file by its number, and another one by its request.
func (l Line) String() string {
	if !l.Derived {
		return fmt.Sprintf("%s:%d", cases.RequestsSection, l.Number)
	}
	return "derived, " + l.request()
}

// request describes the request.
func (l Line) request() string {
	direction := "from"
	if l.Into {
		direction = "into"
	}
	r := l.Request
	text := fmt.Sprintf("%s %s: %s %s %s:%d%s", direction, l.Workload, r.Protocol, r.Method, r.Host, r.Port, r.Path)
	for _, h := range r.Headers {
		text += " " + h.Name + ":" + h.Value
	}
	if r.TLS != nil {
		text += " tls " + l.Certificate
	}
	return text
}
