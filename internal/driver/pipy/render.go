package pipy

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Render returns the part of the configuration that is about the listeners and the services of a workload.
func (Driver) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	r := renderer{view: v, config: Config{
		Spec:            &Spec{Traffic{EnableEgress: v.Mesh.Egress == model.EgressAllow}},
		Inbound:         &Inbound{TrafficMatches: map[string]Match{}},
		Outbound:        &Outbound{TrafficMatches: map[string][]Match{}},
		ClustersConfigs: map[string]Cluster{},
	}}
	for _, in := range v.Inbound {
		r.inbound(in.Listener)
	}
	r.outbounds()
	return []sidecar.Resource{encode("workload", r.config, v.Workload.Origin)}, model.SortFindings(r.findings)
}

type renderer struct {
	view     *model.View
	config   Config
	findings []model.Finding
}

func encode(name string, c Config, origin model.Origin) sidecar.Resource {
	body, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("pipy: %s does not encode: %v", name, err)) // all values of the model can be encoded as JSON
	}
	return sidecar.Resource{Type: ResourceType, Name: name, Body: body, Origins: []model.Origin{origin}}
}

// inbound renders a listener, with the application as its cluster.
func (r *renderer) inbound(l model.Listener) {
	if l.Port == 0 || l.Router != "" || r.view.Gateway || !l.Protocol.Requests() && l.Protocol != model.TCP {
		return // the features have findings
	}
	out := Match{Port: int(l.Port), Protocol: protocol(l.Protocol)}
	secured, allowed := r.view.StreamListener(l)
	local := fmt.Sprintf("inbound|%d|local", l.Port)
	target := map[string]uint32{local: 1}
	tls, serves := serverTLS(secured.TLS)
	if exceptions := r.exceptions(l); tls != nil && len(exceptions) > 0 {
		tls.Exceptions = exceptions
	}
	switch {
	case !serves || !allowed:
		out.Closed = true
	case l.Protocol == model.TCP:
		out.TLS, out.TargetClusters = tls, target
	default:
		out.TLS = tls
		out.HTTPHostPort2Service = map[string]string{"*": local}
		out.HTTPServiceRouteRules = map[string]RouteRules{local: {r.allowed(l, target)}}
		out.Denies = r.view.Workload.Authorize
	}
	port := strconv.Itoa(int(l.Port))
	r.config.Inbound.TrafficMatches[port] = out
	r.config.ClustersConfigs[local] = Cluster{
		Endpoints: map[string]uint32{netip.AddrPortFrom(loopback(r.view.Mesh), l.Port).String(): 1},
		Version:   version(l.Protocol),
	}
}

func protocol(p model.Protocol) string {
	switch {
	case p == model.GRPC:
		return "grpc"
	case p.Requests():
		return "http"
	}
	return "tcp"
}

// version returns the version of HTTP of a protocol; 0 for HTTP/1.1 and streams.
func version(p model.Protocol) int {
	if p.Multiplexed() {
		return 2
	}
	return 0
}

// loopback is the loopback address of the mesh's IP family.
func loopback(mesh model.Mesh) netip.Addr {
	if mesh.Family == model.IPv6Only {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// outbound renders the services on a port.
func (r *renderer) outbound(out model.Outbound) portMatches {
	port := strconv.Itoa(int(out.Port))
	var all portMatches
	requests := Match{
		Port: int(out.Port), Protocol: "http", DestinationIPRanges: addresses(out.RequestAddresses()),
		HTTPHostPort2Service: map[string]string{}, HTTPServiceRouteRules: map[string]RouteRules{},
	}
	for _, b := range out.Bindings {
		switch {
		case b.Protocol == model.TCP:
			r.stream(&all, out.Port, b)
			continue
		case !b.Protocol.Requests():
			continue // the feature has a finding
		}
		for _, h := range b.Hosts {
			h = strings.ToLower(h)
			requests.HTTPHostPort2Service[h] = b.Service
			if b.External {
				requests.HTTPHostPort2Service[h+":*"] = b.Service
			} else {
				requests.HTTPHostPort2Service[h+":"+port] = b.Service
			}
		}
		requests.HTTPServiceRouteRules[b.Service] = RouteRules{r.rules(b)}
	}
	if len(requests.HTTPServiceRouteRules) > 0 {
		all.add(requests)
	}
	return all
}

// portMatches are the entries of a port, of which the first that matches a connection applies: streams to some
// addresses, egress rules for addresses and for server names, what has addresses besides, and what has none.
type portMatches struct{ streams, addresses, names, limited, others []Match }

func (p *portMatches) add(m Match) {
	switch {
	case m.DestinationIPRanges == nil:
		p.others = append(p.others, m)
	case m.Protocol == "tcp":
		p.streams = append(p.streams, m)
	default:
		p.limited = append(p.limited, m)
	}
}

func (p *portMatches) inOrder() []Match {
	return slices.Concat(p.streams, p.addresses, p.names, p.limited, p.others)
}

// outbounds renders the services and the egress rules of all ports.
func (r *renderer) outbounds() {
	ports := map[uint16]portMatches{}
	takesAll := map[uint16]bool{}
	for _, out := range r.view.Outbound {
		ports[out.Port] = r.outbound(out)
		takesAll[out.Port] = out.TakesAll()
	}
	original := Match{Protocol: "tcp", Original: true}
	if r.view.Mesh.Egress != model.EgressAllow {
		if _, declared := ports[model.EgressNamesPort]; !declared && len(r.view.Mesh.EgressNames) > 0 {
			ports[model.EgressNamesPort] = portMatches{limited: []Match{{
				Port: model.EgressNamesPort, Protocol: "tcp", Resolves: true, ServerNames: lower(r.view.Mesh.EgressNames),
			}}}
		}
		for _, e := range r.view.EgressRules {
			all, m := ports[e.Port], original
			m.Port = int(e.Port)
			switch {
			case len(e.Addresses) > 0:
				m.DestinationIPRanges = ranges(e.Addresses)
				all.addresses = append(all.addresses, m)
			case len(e.ServerNames) > 0:
				m.ServerNames = lower(e.ServerNames)
				all.names = append(all.names, m)
			case !takesAll[e.Port]:
				all.others = append(all.others, m)
			}
			ports[e.Port] = all
		}
	}
	for port, all := range ports {
		r.config.Outbound.TrafficMatches[strconv.Itoa(int(port))] = all.inOrder()
	}
}

func lower(names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, strings.ToLower(n))
	}
	return out
}

// ranges returns a set of ranges. Those of one address have its text.
func ranges(all []netip.Prefix) map[string]bool {
	out := map[string]bool{}
	for _, p := range all {
		if p.IsSingleIP() {
			out[p.Addr().String()] = true
		} else {
			out[p.String()] = true
		}
	}
	return out
}

// addresses returns a set of addresses; nil for none.
func addresses(all []netip.Addr) map[string]bool {
	if len(all) == 0 {
		return nil
	}
	out := map[string]bool{}
	for _, a := range all {
		out[a.String()] = true
	}
	return out
}

// stream renders a TCP service. It uses the first route only, because streams have no match criteria. Connections to
// one of its pods go to this pod.
func (r *renderer) stream(all *portMatches, port uint16, b model.Binding) {
	out := Match{Port: int(port), Protocol: "tcp"}
	if len(b.Routes) > 0 {
		out.TargetClusters = targets(b.Routes[0].Action)
	}
	out.Closed = out.TargetClusters == nil
	if !b.MatchAddress {
		all.add(out)
		return
	}
	if pods := addresses(b.Pods); pods != nil {
		to := out
		to.DestinationIPRanges, to.Original = pods, true
		for name := range out.TargetClusters {
			if d, known := r.view.Destination(name); known {
				to.OriginalPort = int(d.Port)
			}
		}
		all.add(to)
	}
	if out.DestinationIPRanges = addresses(slices.Concat(b.Addresses, b.OtherPods)); out.DestinationIPRanges != nil {
		all.add(out)
	}
}

// targets returns the clusters of an action with their weights; nil for none.
func targets(a model.Action) map[string]uint32 {
	var out map[string]uint32
	for _, d := range a.Destinations {
		if d.Weight > 0 {
			if out == nil {
				out = map[string]uint32{}
			}
			out[d.Destination] = d.Weight
		}
	}
	return out
}

// rules renders routes. One whose conditions the proxy cannot compare is left out, with a finding.
func (r *renderer) rules(b model.Binding) []RouteRule {
	out := []RouteRule{}
	for _, route := range b.Routes {
		rule, ok := ruleOf(route.Match)
		if !ok {
			r.findings = append(r.findings, model.NewFinding(route.Origin, model.CodeNotSupported,
				fmt.Sprintf("the driver %s leaves out the route %s: its conditions are not supported", Name, route.Name)))
			continue
		}
		rule.TargetClusters, rule.RetryPolicy = targets(route.Action), r.retry(b.Protocol, route)
		out = append(out, rule)
	}
	return out
}

// RenderDestination returns the cluster of a destination, with its endpoints.
func (Driver) RenderDestination(reach model.ResolvedDestination) []sidecar.Resource {
	d := &reach.Destination
	out := Cluster{Endpoints: map[string]uint32{}, Version: version(d.Protocol), TLS: clientTLS(d.TLS)}
	switch d.Discovery.Kind {
	case model.DiscoverInstances:
		for _, e := range reach.Endpoints {
			for _, a := range e.Addresses[:min(1, len(e.Addresses))] {
				weight := d.WeightAt(e)
				out.Endpoints[netip.AddrPortFrom(a, d.PortAt(e)).String()] = weight
				out.Weighted = out.Weighted || weight != 1
			}
		}
	case model.DiscoverDNS:
		out.Endpoints[fmt.Sprintf("%s:%d", d.Discovery.LookupName(), d.Port)] = 1
	}
	return []sidecar.Resource{encode("cluster/"+d.Name, Config{ClustersConfigs: map[string]Cluster{d.Name: out}}, d.Origin)}
}
