package native

import (
	"fmt"
	"net/netip"
	"slices"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Clusters that connect to where the connection of the client was going.
const (
	passRequests = "outbound/requests-to-original"
	passStreams  = "outbound/streams-to-original"
	passNames    = "outbound/streams-to-server-name"
	passEgress   = "outbound/egress-to-original"
)

// outbound renders the listeners for captured outbound connections: one for the requests on a port, and one for each
// stream.
func (r *renderer) outbound() {
	allow := r.view.Mesh.Egress == model.EgressAllow
	for _, out := range r.view.Outbound {
		r.requests(out)
		for _, b := range out.Bindings {
			if b.Protocol == model.TCP {
				r.stream(out.Port, b)
			}
		}
	}
	r.egressRules()
	origin := r.view.Mesh.Origin
	if allow {
		all := capturedListener("outbound/undeclared", sidecar.OutboundPort, model.TCP, config.Captured{})
		all.Rules.Inline = passTo(passStreams, nil)
		r.add("listener/"+all.Name, &config.Config{
			Listeners: []config.Listener{all},
			Clusters: []config.Cluster{
				dynamicCluster(passStreams, config.TCP, config.ToOriginal),
				dynamicCluster(passRequests, config.HTTP, config.ToOriginal),
			},
		}, origin)
	} else if len(r.view.Mesh.EgressNames) > 0 && !slices.ContainsFunc(r.view.Outbound, func(o model.Outbound) bool {
		return o.Port == model.EgressNamesPort
	}) {
		r.egressNames(origin)
	}
}

// egressNames renders the listener for TLS to server names that the mesh allows.
func (r *renderer) egressNames(origin model.Origin) {
	l := capturedListener("outbound/names", sidecar.OutboundPort, model.TCP, config.Captured{Port: model.EgressNamesPort})
	l.Spec.SNI = true
	l.Rules.Inline = passTo(passNames, asksFor(r.view.Mesh.EgressNames))
	to := dynamicCluster(passNames, config.TCP, config.ToServerName)
	to.Spec.Port, to.Spec.Family = model.EgressNamesPort, family(r.view.Mesh)
	r.add("listener/"+l.Name, &config.Config{Listeners: []config.Listener{l}, Clusters: []config.Cluster{to}}, origin)
}

func dynamicCluster(name string, of config.Protocol, to config.Dynamic) config.Cluster {
	return config.Cluster{Name: name, Spec: config.ClusterSpec{Protocol: of, To: to}}
}

// passTo returns a rule that leads to a cluster without timeouts of requests.
func passTo(cluster string, match any) []config.RuleRef {
	to := &config.Route{
		Destination: config.ClusterRef{Name: cluster}, Retry: retry(model.Retry{}, connectTimeout),
		Timeouts: explicitTimeouts(model.Action{}),
	}
	return []config.RuleRef{{Inline: &config.Rule{Match: match, Action: config.Action{Route: &config.RouteRef{Inline: to}}}}}
}

// requests renders the listener for requests on a port, with a part for the rules of each service.
func (r *renderer) requests(out model.Outbound) {
	name := fmt.Sprintf("outbound/http/%d", out.Port)
	list, origins := rulesByHost(name, out)
	if len(list.Hosts) == 0 {
		return
	}
	for _, b := range out.Bindings {
		if b.Protocol.Requests() {
			r.service(out.Port, b)
		}
	}
	if r.view.Mesh.Egress == model.EgressAllow {
		list.Rules = passTo(passRequests, nil)
	}
	l := capturedListener(name, sidecar.OutboundPort, model.HTTP, config.Captured{
		Port: int(out.Port), Addresses: texts(out.RequestAddresses()),
	})
	l.Rules.Name = name
	r.add("listener/"+name, &config.Config{Listeners: []config.Listener{l}, RuleLists: []config.RuleList{list}}, origins...)
}

// rulesByHost returns the rules for requests on a port, which are those of the service that the host names.
func rulesByHost(name string, out model.Outbound) (config.RuleList, []model.Origin) {
	list := config.RuleList{Name: name, Rules: []config.RuleRef{}}
	var origins []model.Origin
	for _, b := range out.Bindings {
		if b.Protocol.Requests() && slices.Contains(b.Hosts, model.AnyHost) {
			apply := &config.Rule{Action: config.Action{Apply: serviceName(out.Port, b)}}
			list.Rules, origins = append(list.Rules, config.RuleRef{Inline: apply}), append(origins, b.Origin)
		} else if b.Protocol.Requests() {
			list.Hosts = append(list.Hosts, config.HostRules{Hosts: hosts(b, out.Port), Rules: serviceName(out.Port, b)})
			origins = append(origins, b.Origin)
		}
	}
	return list, origins
}

// hosts returns the values of the field Host for a service, in the forms of HostRules.
func hosts(b model.Binding, port uint16) []string {
	var out []string
	for _, h := range b.Hosts {
		with := fmt.Sprintf("%s:%d", h, port)
		if b.External {
			with = h + ":*"
		}
		out = append(out, h, with)
	}
	return out
}

// service renders the rules of a service on a port.
func (r *renderer) service(port uint16, b model.Binding) {
	name := serviceName(port, b)
	list := config.RuleList{Name: name, Rules: []config.RuleRef{}}
	origins := []model.Origin{b.Origin}
	named := r.view.Workload.Role == model.RoleGateway && !slices.Contains(r.view.ListenerPorts, port)
	for _, route := range b.Routes {
		if named {
			var possible bool
			if route.Match, possible = withHost(route.Match, b.Service); !possible {
				continue
			}
		}
		if rule := r.rule(route, false); rule != nil {
			if to := rule.Action.Route; to != nil {
				to.Inline.Metrics = &config.RouteMetrics{Service: b.Service, Route: route.Name}
			}
			list.Rules = append(list.Rules, withClients(route, rule)...)
			origins = append(origins, route.Origin)
		}
	}
	r.add(name, &config.Config{RuleLists: []config.RuleList{list}}, origins...)
}

// stream renders the listener of a TCP service. It uses the first route only, because streams have no match criteria.
func (r *renderer) stream(port uint16, b model.Binding) {
	var first model.Route
	if len(b.Routes) > 0 {
		first = b.Routes[0]
	}
	first.Match = model.Match{}
	rule := r.rule(first, false)
	if rule == nil {
		return
	}
	origins := []model.Origin{b.Origin, first.Origin}
	name := fmt.Sprintf("outbound/tcp/%d/%s", port, b.Service)
	addresses := slices.Concat(b.Addresses, b.OtherPods)
	if b.MatchAddress {
		r.pods(name, port, b, rule, origins)
		if len(addresses) == 0 {
			return
		}
	} else {
		addresses = nil
	}
	l := capturedListener(name, sidecar.OutboundPort, model.TCP, config.Captured{Port: int(port), Addresses: texts(addresses)})
	l.Rules.Inline = []config.RuleRef{{Inline: rule}}
	r.add("listener/"+l.Name, &config.Config{Listeners: []config.Listener{l}}, origins...)
}

// pods renders the listener for connections to pods of a service, which go to the pod that the client has chosen.
func (r *renderer) pods(name string, port uint16, b model.Binding, rule *config.Rule, origins []model.Origin) {
	if len(b.Pods) == 0 {
		return
	}
	name += "/pods"
	l := capturedListener(name, sidecar.OutboundPort, model.TCP, config.Captured{Port: int(port), Addresses: texts(b.Pods)})
	to := dynamicCluster(l.Name, config.TCP, config.ToOriginal)
	for _, t := range b.Routes[0].Action.Destinations {
		if d, known := r.view.Destination(t.Destination); known && t.Weight > 0 {
			to.Spec.Port, to.Spec.TLS = int(d.Port), clientTLS(d.TLS)
		}
	}
	l.Rules.Inline = passTo(l.Name, nil)
	if rule.Action.Route != nil {
		l.Rules.Inline[0].Inline.Action.Route.Inline.Timeouts = rule.Action.Route.Inline.Timeouts
	}
	r.add("listener/"+l.Name, &config.Config{Listeners: []config.Listener{l}, Clusters: []config.Cluster{to}}, origins...)
}

func texts(addresses []netip.Addr) []string {
	var out []string
	for _, a := range addresses {
		out = append(out, a.String())
	}
	return out
}

// family returns the family of addresses of host names.
func family(mesh model.Mesh) int {
	switch mesh.Family {
	case model.IPv4Only:
		return 4
	case model.IPv6Only:
		return 6
	}
	return 0
}
