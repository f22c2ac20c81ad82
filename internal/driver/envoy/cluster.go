package envoy

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

const (
	applicationConnectTimeout = 250 * time.Millisecond
	connectTimeout            = time.Second
)

// applicationCluster is the cluster of the application in the same pod.
func applicationCluster(mesh model.Mesh, name string, l model.Listener) *clusterv3.Cluster {
	out := &clusterv3.Cluster{
		Name:                          name,
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		ConnectTimeout:                durationpb.New(applicationConnectTimeout),
		LoadAssignment:                staticLoadAssignment(name, loopback(mesh), uint32(l.Port)),
		CircuitBreakers:               circuitBreakers(l.CircuitBreaker),
		TypedExtensionProtocolOptions: protocolOptions(l.Protocol),
	}
	setRequestsPerConnection(out, l.Protocol, l.RequestsPerConnection)
	return out
}

// loopback is the loopback address of the mesh's IP family.
func loopback(mesh model.Mesh) string {
	if mesh.Family == model.IPv6Only {
		return "::1"
	}
	return "127.0.0.1"
}

// destinationCluster is the cluster of a destination.
func destinationCluster(mesh model.Mesh, d model.Destination) *clusterv3.Cluster {
	name := egressCluster(d)
	if d.Discovery.Kind == model.DiscoverInstances {
		out := &clusterv3.Cluster{
			Name:                          name,
			ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
			EdsClusterConfig:              &clusterv3.Cluster_EdsClusterConfig{EdsConfig: adsConfigSource()},
			ConnectTimeout:                durationpb.New(connectTimeout),
			CircuitBreakers:               circuitBreakers(nil),
			TypedExtensionProtocolOptions: protocolOptions(d.Protocol),
		}
		setHealth(out, d)
		setSendTimeout(out, d.SendTimeout)
		setLimits(out, d)
		return out
	}
	kind := clusterv3.Cluster_LOGICAL_DNS
	if d.Discovery.Kind == model.DiscoverDNSEndpoints {
		kind = clusterv3.Cluster_STRICT_DNS
	}
	out := &clusterv3.Cluster{
		Name:                          name,
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: kind},
		ConnectTimeout:                durationpb.New(connectTimeout),
		DnsLookupFamily:               lookupFamily(mesh.Family),
		LoadAssignment:                staticLoadAssignment(name, d.Discovery.LookupName(), uint32(d.Port)),
		CircuitBreakers:               circuitBreakers(nil),
		TypedExtensionProtocolOptions: protocolOptions(d.Protocol),
	}
	if d.Discovery.Kind == model.DiscoverStatic {
		setAddresses(out, d)
	}
	setHealth(out, d)
	setSendTimeout(out, d.SendTimeout)
	setLimits(out, d)
	return out
}

// The socket option TCP_USER_TIMEOUT of Linux, which package syscall does not have on other systems.
const (
	levelTCP       = 6
	tcpUserTimeout = 18
)

// setSendTimeout breaks connections whose peer accepts nothing for a time. Envoy's own timeouts cannot tell a peer that
// does not read from one that does not respond, or from a client that sends nothing. The kernel can: TCP_USER_TIMEOUT
// limits how long data is not acknowledged, or not sent because the window of the peer is closed (tcp(7)).
func setSendTimeout(cluster *clusterv3.Cluster, limit model.Duration) {
	if limit <= 0 {
		return
	}
	cluster.UpstreamBindConfig = &corev3.BindConfig{SocketOptions: []*corev3.SocketOption{{
		Description: "TCP_USER_TIMEOUT", Level: levelTCP, Name: tcpUserTimeout,
		Value: &corev3.SocketOption_IntValue{IntValue: time.Duration(limit).Milliseconds()},
		State: corev3.SocketOption_STATE_PREBIND,
	}}}
}

// originalDestinationCluster forwards connections to their original destination.
func originalDestinationCluster(name string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_ORIGINAL_DST},
		LbPolicy:             clusterv3.Cluster_CLUSTER_PROVIDED,
		ConnectTimeout:       durationpb.New(connectTimeout),
		CircuitBreakers:      circuitBreakers(nil),
	}
}

func lookupFamily(f model.AddressFamily) clusterv3.Cluster_DnsLookupFamily {
	switch f {
	case model.IPv4Only:
		return clusterv3.Cluster_V4_ONLY
	case model.IPv6Only:
		return clusterv3.Cluster_V6_ONLY
	}
	return clusterv3.Cluster_AUTO
}

func staticLoadAssignment(cluster, host string, port uint32) *endpointv3.ClusterLoadAssignment {
	return &endpointv3.ClusterLoadAssignment{
		ClusterName: cluster,
		Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
				Endpoint: &endpointv3.Endpoint{Address: socketAddress(host, port)},
			},
		}}}},
	}
}

// setLimits limits what is opened at the same time. Connections to the pods of a stream have a cluster of their own,
// with the same limits.
func setLimits(cluster *clusterv3.Cluster, d model.Destination) {
	l := d.Limits
	if l == nil {
		return
	}
	cluster.CircuitBreakers = circuitBreakers(&model.CircuitBreaker{
		MaxConnections: l.MaxConnections, MaxPending: l.MaxPending, MaxRequests: l.MaxRequests,
	})
	if l.MaxRetries > 0 {
		cluster.CircuitBreakers.Thresholds[0].MaxRetries = wrapperspb.UInt32(l.MaxRetries)
	}
	if l.ConnectTimeout > 0 {
		cluster.ConnectTimeout = duration(l.ConnectTimeout)
	}
	setRequestsPerConnection(cluster, d.Protocol, l.MaxRequestsPerConnection)
}

// setRequestsPerConnection limits the requests on a connection; 0 means no limit.
func setRequestsPerConnection(cluster *clusterv3.Cluster, p model.Protocol, limit uint32) {
	if limit == 0 || !p.Requests() {
		return
	}
	options := httpOptions(p)
	options.CommonHttpProtocolOptions = &corev3.HttpProtocolOptions{MaxRequestsPerConnection: wrapperspb.UInt32(limit)}
	cluster.TypedExtensionProtocolOptions = map[string]*anypb.Any{httpOptionsName: typedConfig(options)}
}

const httpOptionsName = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

// protocolOptions enables upstream HTTP/2 for http2 and grpc.
func protocolOptions(p model.Protocol) map[string]*anypb.Any {
	if !p.Multiplexed() {
		return nil
	}
	return map[string]*anypb.Any{httpOptionsName: typedConfig(httpOptions(p))}
}

// httpOptions returns the options of connections with a protocol of requests.
func httpOptions(p model.Protocol) *httpv3.HttpProtocolOptions {
	explicit := &httpv3.HttpProtocolOptions_ExplicitHttpConfig{
		ProtocolConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_HttpProtocolOptions{},
	}
	if p.Multiplexed() {
		explicit.ProtocolConfig = &httpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
			Http2ProtocolOptions: http2Options(),
		}
	}
	return &httpv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_{ExplicitHttpConfig: explicit},
	}
}
