package agent

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	datadnsv3 "github.com/envoyproxy/go-control-plane/envoy/data/dns/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"anymesh.dev/anymesh/sidecar"
)

func resource(t *testing.T, name, version string, m proto.Message) *discoveryv3.Resource {
	t.Helper()
	body, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return &discoveryv3.Resource{Name: name, Version: version, Resource: body}
}

// registryName is a host name that refers to destinations.
func registryName(t *testing.T, name string, destinations ...string) *discoveryv3.Resource {
	t.Helper()
	service := &datadnsv3.DnsTable_DnsService{}
	for _, to := range destinations {
		service.Targets = append(service.Targets, &datadnsv3.DnsTable_DnsServiceTarget{
			EndpointType: &datadnsv3.DnsTable_DnsServiceTarget_ClusterName{ClusterName: to},
		})
	}
	return resource(t, name, "1", &datadnsv3.DnsTable_DnsVirtualDomain{
		Name: name, AnswerTtl: durationpb.New(5 * time.Second),
		Endpoint: &datadnsv3.DnsTable_DnsEndpoint{EndpointConfig: &datadnsv3.DnsTable_DnsEndpoint_ServiceList{
			ServiceList: &datadnsv3.DnsTable_DnsServiceList{Services: []*datadnsv3.DnsTable_DnsService{service}},
		}},
	})
}

func endpointAddresses(t *testing.T, destination, version string, addresses ...string) *discoveryv3.Resource {
	t.Helper()
	return resource(t, destination, version, &datadnsv3.DnsTable_DnsEndpoint{
		EndpointConfig: &datadnsv3.DnsTable_DnsEndpoint_AddressList{
			AddressList: &datadnsv3.DnsTable_AddressList{Address: addresses},
		},
	})
}

// The agent subscribes to the addresses of a registry name when a client asks for it. The question waits for them.
func TestRegistryNamesAreSubscribedOnDemand(t *testing.T) {
	a, xds := newNamesAgent(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	n, err := a.startDNS(ctx, wg.Go)
	if err != nil {
		t.Fatal(err)
	}
	wg.Go(func() { n.watch(ctx) })
	send := func(typeURL, nonce string, resources ...*discoveryv3.Resource) {
		xds.responses <- &discoveryv3.DeltaDiscoveryResponse{TypeUrl: typeURL, Nonce: nonce, Resources: resources}
		eventually(t, "the acknowledgement of "+nonce, func() bool { return xds.acknowledged(nonce) })
	}
	send(sidecar.HostNameType, "1", registryName(t, "pool.local", "v1", "v2"), registryName(t, "idle.local", "v3"))
	answers := make(chan string, 1)
	ask := func() {
		answer, err := a.lookup("pool.local")
		if err != nil {
			answer = err.Error()
		}
		answers <- answer
	}
	go ask()
	eventually(t, "a subscription", func() bool { return xds.subscriptions() == "+v1 +v2" })
	send(sidecar.EndpointAddressType, "2", endpointAddresses(t, "v1", "a"))
	send(sidecar.EndpointAddressType, "3", endpointAddresses(t, "v2", "b", "10.0.0.7"))
	if got := <-answers; got != "10.0.0.7" {
		t.Errorf("the first question: got %s", got)
	}
	send(sidecar.EndpointAddressType, "4", endpointAddresses(t, "v2", "c"))
	go ask()
	if got := <-answers; got != "NOERROR: []" {
		t.Errorf("without ready endpoints: got %s", got)
	}
	send(sidecar.EndpointAddressType, "5", endpointAddresses(t, "v1", "d", "10.0.0.8"))

	t.Run("reconnect", func(t *testing.T) {
		xds.responses <- nil
		eventually(t, "the subscription of the new stream", func() bool { return xds.subscriptions() == "+v1 +v2 +v1 +v2" })
		send(sidecar.HostNameType, "6", registryName(t, "pool.local", "v1"))
		eventually(t, "the end of a subscription", func() bool { return strings.HasSuffix(xds.subscriptions(), " -v2") })
	})
	cancel()
	wg.Wait()

	t.Run("restart without control plane", func(t *testing.T) {
		a.metrics = newMetrics() // of the new process
		n, err := a.startDNS(t.Context(), func(f func()) { go f() })
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.lookup("pool.local"); err != nil || got != "10.0.0.8" {
			t.Errorf("got %s, error %v", got, err)
		}
		if got := n.table.Endpoints["v1"]; len(n.table.Endpoints) != 1 || got.Version != "d" ||
			got.Addresses[0] != netip.MustParseAddr("10.0.0.8") {
			t.Errorf("cached endpoints: %+v", n.table.Endpoints)
		}
	})
}
