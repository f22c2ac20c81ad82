package native

import (
	"fmt"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
)

// A gateway routes a request to a service twice: the rules of its listener rewrite it, and apply the rules of the
// service, which are the resources that sidecars have, too. The rules of a service see its name as the host, whatever
// host the request is forwarded with.
//
// A listener without routes of its own sends requests to the services on its port, by their host names.

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

// forwards makes a listener of a gateway tell services who the clients are.
func (r *renderer) forwards(spec *config.ListenerSpec) {
	spec.Canonical, spec.Forwarded = true, "append"
	if hops := r.view.Workload.TrustedHops; hops > 0 {
		spec.Forwarded, spec.TrustedHops = "trust", int(min(hops, maxHops))
	}
}

// maxHops is more than the addresses that a head has place for.
const maxHops = 1_000_000

// byHost returns the rules of a listener whose requests go to the services on its port, by their host names, with the
// origins of the services.
func (r *renderer) byHost(name string, port uint16) (config.RuleList, []model.Origin) {
	for _, out := range r.view.Outbound {
		if out.Port == port {
			return rulesByHost(name, out)
		}
	}
	return config.RuleList{Name: name, Rules: []config.RuleRef{}}, nil
}

// withClients returns the rule of a route after one that denies the clients that the route does not serve.
func withClients(route model.Route, rule *config.Rule) []config.RuleRef {
	out := []config.RuleRef{{Inline: rule}}
	if route.Clients == nil {
		return out
	}
	var served []any
	if ranges := route.Clients.Allowed; len(ranges) > 0 {
		served = append(served, op("within", clientAddress, anyTexts(ranges)))
	}
	if ranges := route.Clients.Denied; len(ranges) > 0 {
		served = append(served, not(op("within", clientAddress, anyTexts(ranges))))
	}
	denied := &config.Rule{Match: both(rule.Match, not(all(served...))), Action: config.Action{Deny: true}}
	return append([]config.RuleRef{{Inline: denied}}, out...)
}

// services renders the rules of the services that the routes of a gateway lead to.
func (r *renderer) services() {
	for _, out := range r.view.Outbound {
		for _, b := range out.Bindings {
			if b.Protocol.Requests() {
				r.service(out.Port, b)
			}
		}
	}
}
