package observe

import (
	"fmt"
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// noticing returns the lines whose result depends on a feature.
func noticing(f model.Feature, lines []Line, ix *model.Index, view *model.View) []Line {
	broken, decided := without(f, view)
	var out []Line
	for _, l := range lines {
		other := l
		_, logged := l.Want[logEntry]
		switch protocol, checks := strings.CutPrefix(string(f), "healthCheck."); {
		case strings.HasPrefix(string(f), "accessLog") && logged:
			out = append(out, l)
			continue
		case checks:
			other.Request.State.Unhealthy = slices.DeleteFunc(slices.Clone(l.Request.State.Unhealthy), func(name string) bool {
				d, _ := view.Destination(name)
				return d.HealthCheck != nil && string(d.HealthCheck.Protocol) == protocol
			})
		case l.Into && !l.HealthCheck && f == model.ListenerFeature(listenerProtocol(view, l.Request.Port)):
			out = append(out, l) // a sidecar without the listener refuses the connection, or does not decode it
			continue
		case !decided:
			continue
		}
		if result(l.connecting(ix, view), view) != result(other.connecting(ix, broken), broken) {
			out = append(out, l)
		}
	}
	return out
}

// result is what a client and the destinations can see of a line.
func result(l Line, v *model.View) string {
	if l.HealthCheck {
		return l.healthResult(v)
	}
	d := l.decide(v)
	e := l.expect(d)
	return fmt.Sprint(l.expectedResult(d), l.unreachable(d), e[target], e[forwardedPath], e[host], e[tries],
		e[responseStatus], e[podOf], d.Request.Headers)
}

// listenerProtocol returns the protocol of the listener on a port; empty if there is none.
func listenerProtocol(v *model.View, port uint16) model.Protocol {
	for _, in := range v.Inbound {
		if in.Listener.Port == port {
			return in.Listener.Protocol
		}
	}
	return ""
}
