package native

import (
	"fmt"

	"anymesh.dev/anymesh/model"
)

// A gateway routes a request to a service twice: the rules of its listener rewrite it, and apply the rules of the
// service, which are the resources that sidecars have, too. The rules of a service see its name as the host, whatever
// host the request is forwarded with.

// serviceRules returns the name of the rules of a service; of rules that match nothing, if the gateway has none.
func (r *renderer) serviceRules(to model.ServiceTarget) string {
	for _, out := range r.view.Outbound {
		for _, b := range out.Bindings {
			if b.Service == to.Service && b.Protocol.Requests() && (to.Port == 0 || to.Port == out.Port) {
				return serviceName(out.Port, b)
			}
		}
	}
	return noRoute
}

// serviceName returns the name of the rules of a service on a port.
func serviceName(port uint16, b model.Binding) string {
	return clusterName(fmt.Sprintf("service/%d/%s", port, b.Service))
}

// withHost returns the rest of a match of requests whose host is known. It reports false if none of them matches.
func withHost(m model.Match, host string) (model.Match, bool) {
	var onHost []model.FieldMatch
	rest := m
	rest.Hosts, rest.Headers = nil, nil
	for _, h := range m.Headers {
		if h.IsHost() {
			onHost = append(onHost, h)
		} else {
			rest.Headers = append(rest.Headers, h)
		}
	}
	return rest, model.Match{Hosts: m.Hosts, Headers: onHost}.Matches(model.Request{Host: host})
}

// forwarded returns what a gateway does with the address and the scheme of clients.
func forwarded(w model.Workload) string {
	if w.TrustedHops > 0 {
		return "trust"
	}
	return "append"
}

// services renders the rules of the services that the routes of a gateway lead to.
func (r *renderer) services() {
	for _, out := range r.view.Outbound {
		for _, b := range out.Bindings {
			if b.Protocol.Requests() {
				r.service(serviceName(out.Port, b), b)
			}
		}
	}
}
