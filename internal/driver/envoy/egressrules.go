package envoy

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

// passed is what the egress rules of a port pass.
type passed struct {
	ranges []netip.Prefix
	names  []string
	all    bool
}

// passedChains renders the egress rules of a workload: for each port, a filter chain for addresses, one for server
// names and one for all connections. It returns the ports on which the server name is read. Envoy selects a chain by
// address, then by server name, and refuses a listener in which two chains have the same.
func (r *renderer) passedChains() (chains []*listenerv3.FilterChain, inspected []uint32) {
	if r.view.Mesh.Egress == model.EgressAllow || len(r.view.EgressRules) == 0 {
		return nil, nil
	}
	byPort := map[uint16]*passed{}
	var ports []uint16
	for _, e := range r.view.EgressRules {
		p := byPort[e.Port]
		if p == nil {
			p = &passed{}
			byPort[e.Port], ports = p, append(ports, e.Port)
		}
		p.ranges, p.names = append(p.ranges, e.Addresses...), append(p.names, e.ServerNames...)
		p.all = p.all || len(e.Addresses)+len(e.ServerNames) == 0
	}
	slices.Sort(ports)
	for _, port := range ports {
		p := byPort[port]
		r.exceptServices(port, p)
		add := func(kind string, m *listenerv3.FilterChainMatch) {
			m.DestinationPort = wrapperspb.UInt32(uint32(port))
			chains = append(chains, &listenerv3.FilterChain{
				Name: fmt.Sprintf("egress-%s_%d", kind, port), FilterChainMatch: m,
				Filters: []*listenerv3.Filter{
					tcpProxy("egress", allowAllCluster(r.view.Mesh.Name), 0, r.view.AccessLog),
				},
			})
		}
		if len(p.ranges) > 0 {
			add("addresses", &listenerv3.FilterChainMatch{PrefixRanges: cidrRanges(p.ranges)})
		}
		if len(p.names) > 0 {
			slices.Sort(p.names)
			add("names", &listenerv3.FilterChainMatch{ServerNames: slices.Compact(p.names), TransportProtocol: "tls"})
			inspected = append(inspected, uint32(port))
		}
		if p.all {
			add("all", &listenerv3.FilterChainMatch{})
		}
	}
	r.addAllowAllCluster()
	return chains, inspected
}

// exceptServices removes what the services on a port take.
func (r *renderer) exceptServices(port uint16, p *passed) {
	i := slices.IndexFunc(r.view.Outbound, func(o model.Outbound) bool { return o.Port == port })
	if i < 0 {
		return
	}
	p.all = p.all && !r.view.Outbound[i].TakesAll()
	for _, b := range r.view.Outbound[i].Bindings {
		if b.Protocol != model.TCP || !b.MatchAddress {
			continue
		}
		p.ranges = slices.DeleteFunc(p.ranges, func(p netip.Prefix) bool {
			return p.IsSingleIP() && slices.Contains(slices.Concat(b.Addresses, b.Pods, b.OtherPods), p.Addr())
		})
	}
}

// cidrRanges returns ranges, each once: Envoy refuses a range twice.
func cidrRanges(all []netip.Prefix) []*corev3.CidrRange {
	ranges := slices.Clone(all)
	slices.SortFunc(ranges, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), strings.Compare(a.String(), b.String()))
	})
	var out []*corev3.CidrRange
	for _, p := range slices.Compact(ranges) {
		out = append(out, cidrRange(p))
	}
	return out
}

func cidrRange(p netip.Prefix) *corev3.CidrRange {
	return &corev3.CidrRange{AddressPrefix: p.Addr().String(), PrefixLen: wrapperspb.UInt32(uint32(p.Bits()))}
}

// addAllowAllCluster adds the cluster for connections to their original destinations.
func (r *renderer) addAllowAllCluster() {
	name := allowAllCluster(r.view.Mesh.Name)
	r.add(name, originalDestinationCluster(name), r.view.Mesh.Origin)
}
