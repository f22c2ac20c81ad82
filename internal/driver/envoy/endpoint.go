package envoy

import (
	"net/netip"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

// loadAssignment renders the endpoints of a destination as an EDS resource with the name of the destination's cluster.
// A change of pods changes only this resource. Without endpoints, Envoy answers requests with 503.
func loadAssignment(reach model.ResolvedDestination) *endpointv3.ClusterLoadAssignment {
	var all []*endpointv3.LbEndpoint
	d := reach.Destination
	for _, e := range reach.Endpoints {
		address, ok := preferredAddress(reach.Mesh.Family, e.Addresses)
		if !ok {
			continue
		}
		one := &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
				Endpoint: &endpointv3.Endpoint{
					Address: socketAddress(address.String(), uint32(d.PortAt(e))),
				},
			},
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

// preferredAddress returns the first address of the mesh's IP family, and reports false if there is none.
func preferredAddress(f model.AddressFamily, all []netip.Addr) (netip.Addr, bool) {
	for _, a := range all {
		if f == model.AnyFamily || a.Is4() == (f == model.IPv4Only) {
			return a, true
		}
	}
	return netip.Addr{}, false
}
