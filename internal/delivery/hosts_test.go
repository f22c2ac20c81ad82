package delivery_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	datadnsv3 "github.com/envoyproxy/go-control-plane/envoy/data/dns/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"anymesh.dev/anymesh/sidecar"
)

// pool is a VirtualNode with awsCloudMap and its pods, the backend of client.
const pool = `
{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: m}, spec: {namespaceSelector: {}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: client, namespace: a}
spec: {podSelector: {matchLabels: {app: client}}, backends: [{virtualService: {virtualServiceRef: {name: pool}}}]}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: pool, namespace: a}
spec:
  podSelector: {matchLabels: {app: pool}}
  listeners: [{portMapping: {port: 80, protocol: http}}]
  serviceDiscovery: {awsCloudMap: {namespaceName: apps.local, serviceName: Pool}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {name: pool, namespace: a}
spec: {awsName: pool.example, provider: {virtualNode: {virtualNodeRef: {name: pool}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: client-1, namespace: a, uid: c1, labels: {app: client}}}
`

func poolPod(n int) string {
	return fmt.Sprintf("\n---\n{apiVersion: v1, kind: Pod, metadata: {name: pool-%d, namespace: a, uid: p%d, labels: {app: pool}}, "+
		"status: {podIP: 10.0.0.%d, conditions: [{type: Ready, status: 'True'}]}}", n, n, n)
}

// An agent gets the host names of its workload, and the addresses of endpoints only if it subscribes to them.
func TestAgentReceivesNamesAndAddresses(t *testing.T) {
	f := newFixture(t)
	f.applyYAML(t, pool+poolPod(1))
	stream := connect(t, f, "m/client_a", "c1")
	next := func(typeURL string) map[string]proto.Message {
		t.Helper()
		for {
			r := receive(t, stream)
			if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}); err != nil {
				t.Fatal(err)
			}
			if r.GetTypeUrl() != typeURL {
				continue // clusters
			}
			out := map[string]proto.Message{}
			for _, resource := range r.GetResources() {
				m, err := resource.GetResource().UnmarshalNew()
				if err != nil {
					t.Fatal(err)
				}
				out[resource.GetName()] = m
			}
			return out
		}
	}
	subscribe := func(typeURL, name string) {
		t.Helper()
		request := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResourceNamesSubscribe: []string{name}}
		if err := stream.Send(request); err != nil {
			t.Fatal(err)
		}
	}
	addresses := func(m proto.Message) string {
		endpoint, _ := m.(*datadnsv3.DnsTable_DnsEndpoint)
		return strings.Join(endpoint.GetAddressList().GetAddress(), " ")
	}

	subscribe(sidecar.HostNameType, "*")
	names := next(sidecar.HostNameType)
	service, _ := names["pool.example"].(*datadnsv3.DnsTable_DnsVirtualDomain)
	if got := addresses(service.GetEndpoint()); !strings.HasPrefix(got, "240.240.") {
		t.Errorf("pool.example: got %q", got)
	}
	registered, _ := names["pool.apps.local"].(*datadnsv3.DnsTable_DnsVirtualDomain)
	targets := registered.GetEndpoint().GetServiceList().GetServices()[0].GetTargets()
	if len(names) != 2 || len(targets) != 1 || targets[0].GetClusterName() != "pool_a_http_80" {
		t.Fatalf("got names %v", names)
	}

	f.publisher.takeCalls()
	f.applyYAML(t, pool+poolPod(1)+poolPod(2))
	if calls := f.publisher.takeCalls(); !slices.ContainsFunc(calls, func(c string) bool {
		return strings.HasPrefix(c, "update m/client_a +")
	}) {
		t.Errorf("a new endpoint: got calls %q", calls)
	}
	subscribe(sidecar.EndpointAddressType, "pool_a_http_80")
	if got := addresses(next(sidecar.EndpointAddressType)["pool_a_http_80"]); got != "10.0.0.1 10.0.0.2" {
		t.Errorf("pool_a: got %q", got)
	}
	f.applyYAML(t, pool+poolPod(2))
	if got := addresses(next(sidecar.EndpointAddressType)["pool_a_http_80"]); got != "10.0.0.2" {
		t.Errorf("after an endpoint is deleted: got %q", got)
	}
}
