package envoy

import (
	"net/netip"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

// loadAssignment lists the endpoints of a destination, in their order. It has the name of the destination's cluster, and is a
// resource of its own: pods that come and go change nothing else. Without an endpoint it is empty, and requests are answered 503.
func loadAssignment(reach model.ResolvedDestination) *endpointv3.ClusterLoadAssignment {
	var all []*endpointv3.LbEndpoint
	d := reach.Destination
	for _, e := range reach.Endpoints {
		address, ok := preferredAddress(reach.Mesh.Family, e.Addresses)
		if !ok {
			continue
		}
		one := &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: socketAddress(address.String(), uint32(d.Port))}},
		}
		if e.Weight > 0 {
			one.LoadBalancingWeight = wrapperspb.UInt32(e.Weight)
		}
		all = append(all, one)
	}
	out := &endpointv3.ClusterLoadAssignment{ClusterName: egressCluster(d)}
	if len(all) > 0 {
		out.Endpoints = []*endpointv3.LocalityLbEndpoints{{LbEndpoints: all}}
	}
	return out
}

// preferredAddress picks the address of an endpoint that the mesh wants to be used, and reports false if there is none.
func preferredAddress(f model.AddressFamily, all []netip.Addr) (netip.Addr, bool) {
	for _, a := range all {
		if f == model.AnyFamily || a.Is4() == (f == model.IPv4Only) {
			return a, true
		}
	}
	return netip.Addr{}, false
}
