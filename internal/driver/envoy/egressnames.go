package envoy

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	forwarderv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dynamic_forward_proxy/v3"
	dnscachev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/dynamic_forward_proxy/v3"
	sniv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/sni_dynamic_forward_proxy/v3"
	caresv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

const (
	// egressNameTTL is the time from the last connection to a name until it leaves the cache.
	egressNameTTL = 5 * time.Minute
	// unresolvedRetry is the time after which a name without an address is resolved again. Until then, connections to it
	// are closed. Envoy's default of 60 s would prolong a short failure of DNS.
	unresolvedRetry = 5 * time.Second
)

// egressNamesForwarder is the cluster for the egress names of a mesh. It connects to the address of the server name.
func egressNamesForwarder(mesh model.Mesh) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: egressNamesCluster(mesh.Name),
		ClusterDiscoveryType: &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{
			Name: "envoy.clusters.dynamic_forward_proxy",
			TypedConfig: typedConfig(&forwarderv3.ClusterConfig{
				ClusterImplementationSpecifier: &forwarderv3.ClusterConfig_DnsCacheConfig{DnsCacheConfig: egressNamesCache(mesh)},
			}),
		}},
		LbPolicy:        clusterv3.Cluster_CLUSTER_PROVIDED,
		ConnectTimeout:  durationpb.New(connectTimeout),
		CircuitBreakers: circuitBreakers(nil),
	}
}

// resolveServerName is the filter that resolves the TLS server name of a connection before it is forwarded. The port is
// fixed, so that no name leads to a port of the sidecar itself.
func resolveServerName(mesh model.Mesh) *listenerv3.Filter {
	return &listenerv3.Filter{
		Name: "envoy.filters.network.sni_dynamic_forward_proxy",
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: typedConfig(&sniv3.FilterConfig{
			PortSpecifier:  &sniv3.FilterConfig_PortValue{PortValue: model.EgressNamesPort},
			DnsCacheConfig: egressNamesCache(mesh),
		})},
	}
}

// egressNamesCache is the DNS cache that filter and cluster share. It asks the nameservers of the pod, but ignores the
// search domains, which would let names of the cluster take precedence over the server name. Without a family of the
// mesh, Envoy tries all addresses, since it cannot know the family that the application prefers.
func egressNamesCache(mesh model.Mesh) *dnscachev3.DnsCacheConfig {
	family := clusterv3.Cluster_ALL
	if mesh.Family != model.AnyFamily {
		family = lookupFamily(mesh.Family)
	}
	return &dnscachev3.DnsCacheConfig{
		Name: egressNamesCluster(mesh.Name), DnsLookupFamily: family, MaxHosts: wrapperspb.UInt32(model.MaxEgressNames),
		HostTtl: durationpb.New(egressNameTTL), DnsRefreshRate: durationpb.New(unresolvedRetry), // failures have it, too
		TypedDnsResolverConfig: &corev3.TypedExtensionConfig{
			Name: "envoy.network.dns_resolver.cares",
			TypedConfig: typedConfig(&caresv3.CaresDnsResolverConfig{
				DnsResolverOptions: &corev3.DnsResolverOptions{NoDefaultSearchDomain: true},
			}),
		},
	}
}
