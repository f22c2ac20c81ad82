package envoy

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	originaldstv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/original_dst/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

// capturedListener accepts connections that the pod's packet rules redirect, over IPv4 and IPv6, and restores their
// original destination.
func (d Driver) capturedListener(name string, port uint32, chains []*listenerv3.FilterChain) *listenerv3.Listener {
	return &listenerv3.Listener{
		Name:                name,
		Address:             socketAddress("0.0.0.0", port),
		AdditionalAddresses: d.additionalAddresses(port),
		FilterChains:        chains,
		ListenerFilters: []*listenerv3.ListenerFilter{{
			Name:       "envoy.filters.listener.original_dst",
			ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: typedConfig(&originaldstv3.OriginalDst{})},
		}},
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(1 << 20),
		TrafficDirection:              direction(name),
	}
}

// additionalAddresses returns the IPv6 address of a listener.
func (d Driver) additionalAddresses(port uint32) []*listenerv3.AdditionalAddress {
	if d.ipv4Only {
		return nil
	}
	return []*listenerv3.AdditionalAddress{{Address: socketAddress("::", port)}}
}

func direction(name string) corev3.TrafficDirection {
	if name == ingressListener {
		return corev3.TrafficDirection_INBOUND
	}
	return corev3.TrafficDirection_OUTBOUND
}

func socketAddress(host string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

// tlsInspector detects TLS and reads the SNI on some ports only, or on all if none is given. On other ports it would
// delay protocols in which the server sends first.
func tlsInspector(ports ...uint32) *listenerv3.ListenerFilter {
	out := &listenerv3.ListenerFilter{
		Name:       "envoy.filters.listener.tls_inspector",
		ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: typedConfig(&tlsinspectorv3.TlsInspector{})},
	}
	if len(ports) > 0 {
		out.FilterDisabled = otherThan(ports)
	}
	return out
}

// otherThan matches connections to other ports.
func otherThan(ports []uint32) *listenerv3.ListenerFilterChainMatchPredicate {
	var each []*listenerv3.ListenerFilterChainMatchPredicate
	for _, port := range ports {
		each = append(each, &listenerv3.ListenerFilterChainMatchPredicate{
			Rule: &listenerv3.ListenerFilterChainMatchPredicate_DestinationPortRange{
				DestinationPortRange: &typev3.Int32Range{Start: int32(port), End: int32(port) + 1},
			},
		})
	}
	onPort := each[0]
	if len(each) > 1 {
		onPort = &listenerv3.ListenerFilterChainMatchPredicate{
			Rule: &listenerv3.ListenerFilterChainMatchPredicate_OrMatch{
				OrMatch: &listenerv3.ListenerFilterChainMatchPredicate_MatchSet{Rules: each},
			},
		}
	}
	return &listenerv3.ListenerFilterChainMatchPredicate{
		Rule: &listenerv3.ListenerFilterChainMatchPredicate_NotMatch{NotMatch: onPort},
	}
}

// newHTTPConnectionManager returns a connection manager without routes. It normalizes paths before matching and
// forwarding.
func newHTTPConnectionManager(statPrefix string, log *model.AccessLog) *hcmv3.HttpConnectionManager {
	return &hcmv3.HttpConnectionManager{
		StatPrefix: statPrefix,
		AccessLog:  accessLogs(log),
		CodecType:  hcmv3.HttpConnectionManager_AUTO,
		HttpFilters: []*hcmv3.HttpFilter{{
			Name:       "envoy.filters.http.router",
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: typedConfig(&routerv3.Router{})},
		}},
		UpgradeConfigs:               []*hcmv3.HttpConnectionManager_UpgradeConfig{{UpgradeType: "websocket"}},
		NormalizePath:                wrapperspb.Bool(true),
		MergeSlashes:                 true,
		StripTrailingHostDot:         true,
		PathWithEscapedSlashesAction: hcmv3.HttpConnectionManager_KEEP_UNCHANGED,
		ServerHeaderTransformation:   hcmv3.HttpConnectionManager_PASS_THROUGH,
		UseRemoteAddress:             wrapperspb.Bool(false),
		HttpProtocolOptions:          &corev3.Http1ProtocolOptions{AcceptHttp_10: true},
		Http2ProtocolOptions:         http2Options(),
		// The tracer is that of the bootstrap. Without one, the field costs 1.5 % of the instructions of a request.
		Tracing: &hcmv3.HttpConnectionManager_Tracing{},
	}
}

// http2Options returns the options of HTTP/2 for both ends of a connection. Requests of many clients share the
// connections between sidecars: upgrades pass as extended CONNECT (RFC 8441), and an invalid message ends its stream
// only.
func http2Options() *corev3.Http2ProtocolOptions {
	return &corev3.Http2ProtocolOptions{
		AllowConnect: true, OverrideStreamErrorOnInvalidHttpMessage: wrapperspb.Bool(true),
	}
}

// routesByName selects the routes of the named route configuration.
func routesByName(name string) *hcmv3.HttpConnectionManager_Rds {
	return &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{RouteConfigName: name, ConfigSource: adsConfigSource()}}
}

func httpFilter(manager *hcmv3.HttpConnectionManager) *listenerv3.Filter {
	return &listenerv3.Filter{
		Name:       "envoy.filters.network.http_connection_manager",
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: typedConfig(manager)},
	}
}

// tcpProxy forwards a stream to one cluster. Idle 0 disables the idle timeout.
func tcpProxy(statPrefix, cluster string, idle model.Duration, log *model.AccessLog) *listenerv3.Filter {
	return tcpFilter(newTCPProxy(statPrefix, cluster, nil, idle, log))
}

// newTCPProxy forwards a stream to one cluster, or to several by weight.
func newTCPProxy(statPrefix, cluster string, weighted []weightedTarget, idle model.Duration,
	log *model.AccessLog) *tcpproxyv3.TcpProxy {
	proxy := &tcpproxyv3.TcpProxy{StatPrefix: statPrefix, IdleTimeout: duration(idle), AccessLog: accessLogs(log)}
	proxy.ClusterSpecifier = &tcpproxyv3.TcpProxy_Cluster{Cluster: cluster}
	if len(weighted) > 0 {
		clusters := &tcpproxyv3.TcpProxy_WeightedCluster{}
		for _, t := range weighted {
			clusters.Clusters = append(clusters.Clusters,
				&tcpproxyv3.TcpProxy_WeightedCluster_ClusterWeight{Name: t.cluster, Weight: t.weight})
		}
		proxy.ClusterSpecifier = &tcpproxyv3.TcpProxy_WeightedClusters{WeightedClusters: clusters}
	}
	return proxy
}

func tcpFilter(proxy *tcpproxyv3.TcpProxy) *listenerv3.Filter {
	return &listenerv3.Filter{
		Name:       "envoy.filters.network.tcp_proxy",
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: typedConfig(proxy)},
	}
}

func adsConfigSource() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
		InitialFetchTimeout:   durationpb.New(0),
	}
}
