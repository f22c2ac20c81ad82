package envoy

import (
	"net/netip"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

// setAddresses sets the addresses of a destination with fixed ones. If one is a host name, Envoy resolves them all:
// each address of a name is an endpoint. It takes socket files only beside IP addresses, so that those beside names
// are left out.
func setAddresses(cluster *clusterv3.Cluster, d model.Destination) {
	kind := clusterv3.Cluster_STATIC
	for _, a := range d.Discovery.Addresses {
		if _, err := netip.ParseAddr(a.Host); a.Socket == "" && err != nil {
			kind = clusterv3.Cluster_STRICT_DNS
		}
	}
	cluster.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: kind}
	var all []*endpointv3.LbEndpoint
	for _, a := range d.Discovery.Addresses {
		host := a.Host
		if _, err := netip.ParseAddr(host); err != nil {
			host = model.Discovery{Hostname: host}.LookupName()
		}
		address := socketAddress(host, uint32(d.Port))
		if a.Socket != "" {
			if kind == clusterv3.Cluster_STRICT_DNS {
				continue
			}
			address = &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: a.Socket}}}
		}
		one := &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: address}},
		}
		if a.Weight > 0 {
			one.LoadBalancingWeight = wrapperspb.UInt32(a.Weight)
		}
		all = append(all, one)
	}
	cluster.LoadAssignment = &endpointv3.ClusterLoadAssignment{
		ClusterName: cluster.Name, Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: all}},
	}
}
