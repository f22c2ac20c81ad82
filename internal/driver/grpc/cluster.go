package grpc

import (
	"net/netip"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// connectTimeout limits attempts to connect.
const connectTimeout = time.Second

// clusterName names the cluster of a destination, and its endpoints.
func clusterName(d model.Destination) string { return "outbound/" + d.Mesh + "/" + d.Name }

// RenderDestination returns the cluster of a destination and, for EDS, its ClusterLoadAssignment. A destination whose
// TLS gRPC libraries cannot use has no cluster, so that calls fail.
func (Driver) RenderDestination(reach model.ResolvedDestination) []sidecar.Resource {
	d := reach.Destination
	if d.Protocol != model.GRPC || unsupportedTLS(d.TLS) != "" {
		return nil
	}
	name := clusterName(d)
	cluster := &clusterv3.Cluster{
		Name: name, LbPolicy: clusterv3.Cluster_ROUND_ROBIN, ConnectTimeout: durationpb.New(connectTimeout),
	}
	if d.TLS != nil {
		cluster.TransportSocket = clientSocket(d.TLS)
	}
	switch d.Discovery.Kind {
	case model.DiscoverInstances:
		cluster.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
		cluster.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{
			EdsConfig: adsConfigSource(), ServiceName: name,
		}
		return []sidecar.Resource{newResource(name, cluster, d.Origin), newResource(name, loadAssignment(reach), d.Origin)}
	case model.DiscoverDNS:
		cluster.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_LOGICAL_DNS}
		cluster.LoadAssignment = endpoints(name, []*endpointv3.LbEndpoint{
			endpoint(d.Discovery.LookupName(), d.Port, 0),
		})
		return []sidecar.Resource{newResource(name, cluster, d.Origin)}
	}
	return nil // the feature has a finding
}

// loadAssignment renders the endpoints of a destination.
func loadAssignment(reach model.ResolvedDestination) *endpointv3.ClusterLoadAssignment {
	var all []*endpointv3.LbEndpoint
	for _, e := range reach.Endpoints {
		for _, a := range e.Addresses {
			if f := reach.Mesh.Family; f == model.AnyFamily || a.Is4() == (f == model.IPv4Only) {
				all = append(all, endpoint(a.String(), reach.Destination.PortAt(e), e.Weight))
				break
			}
		}
	}
	return endpoints(clusterName(reach.Destination), all)
}

// endpoints puts endpoints into one locality, which gRPC libraries require to have a name and a weight.
func endpoints(cluster string, all []*endpointv3.LbEndpoint) *endpointv3.ClusterLoadAssignment {
	out := &endpointv3.ClusterLoadAssignment{ClusterName: cluster}
	if len(all) > 0 {
		out.Endpoints = []*endpointv3.LocalityLbEndpoints{{
			Locality: &corev3.Locality{}, LoadBalancingWeight: wrapperspb.UInt32(1), LbEndpoints: all,
		}}
	}
	return out
}

// endpoint renders an endpoint. Weight 0 is the default weight.
func endpoint(host string, port uint16, weight uint32) *endpointv3.LbEndpoint {
	out := &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
		Endpoint: &endpointv3.Endpoint{Address: socketAddress(host, port)},
	}}
	if weight > 0 {
		out.LoadBalancingWeight = wrapperspb.UInt32(weight)
	}
	return out
}

func socketAddress(host string, port uint16) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)},
	}}}
}

// serverAddresses are the addresses on which the servers of a pod may listen, as gRPC libraries write them.
var serverAddresses = []netip.Addr{
	netip.IPv4Unspecified(), netip.IPv6Unspecified(), netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback(),
}
