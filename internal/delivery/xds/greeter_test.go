package xds

import (
	"net"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	managerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Resources for real clients: a listener "greeter" whose route "greeter-route" refers to a cluster.

func resource(t testing.TB, name string, m proto.Message) *Resource {
	t.Helper()
	r, err := NewResource(name, m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func anyOf(t testing.TB, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func byADS() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
		ResourceApiVersion:    corev3.ApiVersion_V3,
	}
}

func addressOf(t testing.TB, hostPort string) *corev3.Address {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", hostPort)
	if err != nil {
		t.Fatal(err)
	}
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: a.IP.String(), PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(a.Port)},
	}}}
}

// greeterListener is a listener for Envoy if it has an address, else an API listener for gRPC.
func greeterListener(t testing.TB, address string) *Resource {
	t.Helper()
	manager := anyOf(t, &managerv3.HttpConnectionManager{
		StatPrefix: "greeter",
		RouteSpecifier: &managerv3.HttpConnectionManager_Rds{Rds: &managerv3.Rds{RouteConfigName: "greeter-route",
			ConfigSource: byADS()}},
		HttpFilters: []*managerv3.HttpFilter{{
			Name: "router", ConfigType: &managerv3.HttpFilter_TypedConfig{TypedConfig: anyOf(t, &routerv3.Router{})},
		}},
	})
	l := &listenerv3.Listener{Name: "greeter"}
	if address == "" {
		l.ApiListener = &listenerv3.ApiListener{ApiListener: manager}
		return resource(t, "greeter", l)
	}
	l.Address = addressOf(t, address)
	l.FilterChains = []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
		Name: "manager", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: manager},
	}}}}
	return resource(t, "greeter", l)
}

func greeterRoute(t testing.TB, cluster string) *Resource {
	t.Helper()
	return resource(t, "greeter-route", &routev3.RouteConfiguration{Name: "greeter-route",
		VirtualHosts: []*routev3.VirtualHost{{
			Name: "all", Domains: []string{"*"}, Routes: []*routev3.Route{{
				Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: ""}},
				Action: &routev3.Route_Route{
					Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster}},
				},
			}},
		}}})
}

func greeterCluster(t testing.TB, name string, timeout time.Duration) *Resource {
	t.Helper()
	return resource(t, name, &clusterv3.Cluster{
		Name: name, ConnectTimeout: durationpb.New(timeout),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: byADS()},
	})
}

func greeterEndpoints(t testing.TB, name, address string) *Resource {
	t.Helper()
	return resource(t, name, &endpointv3.ClusterLoadAssignment{ClusterName: name,
		Endpoints: []*endpointv3.LocalityLbEndpoints{{
			Locality: &corev3.Locality{Region: "here"}, LoadBalancingWeight: wrapperspb.UInt32(1),
			LbEndpoints: []*endpointv3.LbEndpoint{
				{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
					Endpoint: &endpointv3.Endpoint{Address: addressOf(t, address)},
				}},
			},
		}}})
}

// invalidRoute is a route configuration that Envoy rejects: its virtual host has no domains.
func invalidRoute() *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{Name: "greeter-route",
		VirtualHosts: []*routev3.VirtualHost{{Name: "no domains"}}}
}
