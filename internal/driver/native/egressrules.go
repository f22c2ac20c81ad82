package native

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// egressRules renders the egress rules of the workload: for each port, a listener for addresses, one for server names
// and one for all connections. The proxy finds the listener in this order, after those of services with addresses.
func (r *renderer) egressRules() {
	rules := slices.Clone(r.view.EgressRules)
	if r.view.Mesh.Egress == model.EgressAllow || len(rules) == 0 {
		return
	}
	slices.SortStableFunc(rules, func(a, b model.EgressRule) int { return cmp.Compare(a.Port, b.Port) })
	out := &config.Config{Clusters: []config.Cluster{dynamicCluster(passEgress, config.TCP, config.ToOriginal)}}
	origins := []model.Origin{r.view.Workload.Origin}
	for len(rules) > 0 {
		port := rules[0].Port
		end := slices.IndexFunc(rules, func(e model.EgressRule) bool { return e.Port != port })
		if end < 0 {
			end = len(rules)
		}
		var ranges []netip.Prefix
		var names []string
		everything := false
		for _, e := range rules[:end] {
			ranges, names = append(ranges, e.Addresses...), append(names, e.ServerNames...)
			everything = everything || len(e.Addresses)+len(e.ServerNames) == 0
			origins = append(origins, e.Origin)
		}
		rules = rules[end:]
		ranges, everything = r.exceptServices(port, ranges, everything)
		add := func(kind string, used bool, captured config.Captured) {
			if !used {
				return
			}
			captured.Port = int(port)
			l := capturedListener(fmt.Sprintf("outbound/egress/%s/%d", kind, port), sidecar.OutboundPort, model.TCP, captured)
			l.Rules.Inline = passTo(passEgress, nil)
			out.Listeners = append(out.Listeners, l)
		}
		slices.Sort(names)
		add("addresses", len(ranges) > 0, config.Captured{Addresses: rangeTexts(ranges)})
		add("names", len(names) > 0, config.Captured{ServerNames: slices.Compact(names)})
		add("all", everything, config.Captured{})
	}
	r.add("listener/outbound/egress", out, origins...)
}

// exceptServices removes what the services on a port take.
func (r *renderer) exceptServices(port uint16, ranges []netip.Prefix, all bool) ([]netip.Prefix, bool) {
	i := slices.IndexFunc(r.view.Outbound, func(o model.Outbound) bool { return o.Port == port })
	if i < 0 {
		return ranges, all
	}
	for _, b := range r.view.Outbound[i].Bindings {
		if b.Protocol == model.TCP && b.MatchAddress {
			taken := slices.Concat(b.Addresses, b.Pods, b.OtherPods)
			ranges = slices.DeleteFunc(ranges, func(p netip.Prefix) bool {
				return p.IsSingleIP() && slices.Contains(taken, p.Addr())
			})
		}
	}
	return ranges, all && !r.view.Outbound[i].TakesAll()
}
