package observe

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"anymesh.dev/anymesh/internal/driver/envoy"
)

// The functions of this file start an Envoy with static configuration on loopback, with clusters and connection
// managers as the driver renders them for a case.

// renderedResource returns a resource that the driver renders for a workload of a case.
func renderedResource[T proto.Message](t *testing.T, name, workload, resource string) T {
	t.Helper()
	for key, resources := range readCase(t, name).translated().Rendered {
		for _, r := range resources {
			if key.Name != workload || r.Name != resource {
				continue
			}
			message, err := envoy.Decode(r)
			if err != nil {
				t.Fatal(err)
			}
			if found, is := message.(T); is {
				return found
			}
		}
	}
	t.Fatalf("the case %s has no resource %s of %s", name, resource, workload)
	panic("unreachable")
}

// staticCluster returns a rendered cluster with endpoints on loopback ports.
func staticCluster(t *testing.T, cluster *clusterv3.Cluster, ports ...uint16) string {
	t.Helper()
	cluster.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
	cluster.EdsClusterConfig = nil
	endpoints := &endpointv3.LocalityLbEndpoints{}
	for _, port := range ports {
		endpoints.LbEndpoints = append(endpoints.LbEndpoints, &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: loopbackAddress(port)}},
		})
	}
	cluster.LoadAssignment = &endpointv3.ClusterLoadAssignment{
		ClusterName: cluster.Name, Endpoints: []*endpointv3.LocalityLbEndpoints{endpoints},
	}
	return toJSON(t, cluster)
}

// staticListener returns a listener on a loopback port with the first connection manager of a rendered listener. All
// requests go to a cluster.
func staticListener(t *testing.T, rendered *listenerv3.Listener, cluster string, port uint16) string {
	t.Helper()
	manager := &hcmv3.HttpConnectionManager{}
	filter := rendered.FilterChains[0].Filters[0]
	if err := filter.GetTypedConfig().UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	manager.HttpFilters = manager.HttpFilters[len(manager.HttpFilters)-1:] // the router; others need scopes
	manager.AccessLog = nil
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
		VirtualHosts: []*routev3.VirtualHost{{Name: "all", Domains: []string{"*"}, Routes: []*routev3.Route{{
			Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster},
			}},
		}}}},
	}}
	config, err := anypb.New(manager)
	if err != nil {
		t.Fatal(err)
	}
	filter.ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: config}
	return toJSON(t, &listenerv3.Listener{
		Name: cluster, Address: loopbackAddress(port), FilterChains: []*listenerv3.FilterChain{{
			Filters: []*listenerv3.Filter{filter},
		}},
	})
}

func loopbackAddress(port uint16) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)},
	}}}
}

func toJSON(t *testing.T, m proto.Message) string {
	t.Helper()
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// startStatic starts an Envoy with a bootstrap, and waits until it accepts connections at an address.
func startStatic(t *testing.T, binary, bootstrap, address string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "envoy.json")
	if err := os.WriteFile(file, []byte(bootstrap), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), binary, "-c", file, "--use-dynamic-base-id", "--log-level", "error",
		"--concurrency", "1")
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(ended)
	}()
	t.Cleanup(func() { <-ended })
	for end := time.Now().Add(time.Minute); ; {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("Envoy ends: %s", log.String())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatalf("Envoy does not listen: %v", err)
		}
	}
}
