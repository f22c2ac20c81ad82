package envoy

import (
	"net/netip"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// podFilterChains renders a filter chain for each pod of a stream that matches addresses; other pods have the filters
// of the service. When a pod comes or goes, Envoy keeps the connections of the other chains.
func (r *renderer) podFilterChains(port uint16, b model.Binding,
	others []*listenerv3.Filter) (out []*listenerv3.FilterChain) {
	if !b.MatchAddress {
		return nil
	}
	add := func(pod netip.Addr, filters []*listenerv3.Filter) {
		out = append(out, &listenerv3.FilterChain{
			Name:             "tcp_" + b.Service + "_" + pod.String(),
			FilterChainMatch: matchDestination(port, []netip.Addr{pod}), Filters: filters,
		})
	}
	for _, pod := range b.OtherPods {
		add(pod, others)
	}
	if len(b.Pods) == 0 {
		return out
	}
	action := b.Routes[0].Action
	cluster, _ := r.targets(action) // the only one
	for _, t := range action.Destinations {
		if d, known := r.find(t.Destination); known && egressCluster(d) == cluster {
			cluster = podCluster(d)
			r.addPodCluster(cluster, d)
			break
		}
	}
	for _, pod := range b.Pods {
		add(pod, []*listenerv3.Filter{tcpProxy("egress", cluster, action.Timeouts.Idle, r.view.AccessLog)})
	}
	return out
}

// addPodCluster adds the cluster of a destination that connects to the original destination of connections.
func (r *renderer) addPodCluster(name string, d model.Destination) {
	if slices.ContainsFunc(r.resources, func(o sidecar.Resource) bool { return o.Name == name }) {
		return
	}
	cluster := originalDestinationCluster(name)
	cluster.LbConfig = &clusterv3.Cluster_OriginalDstLbConfig_{OriginalDstLbConfig: &clusterv3.Cluster_OriginalDstLbConfig{
		UpstreamPortOverride: wrapperspb.UInt32(uint32(d.Port)),
	}}
	setLimits(cluster, d)
	if d.TLS != nil {
		cluster.TransportSocket, _ = clientSocket(d) // RenderOutbound returns the secrets
	}
	r.add(name, cluster, d.Origin)
}
