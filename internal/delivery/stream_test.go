package delivery_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/test/poll"
)

// byNode believes what a sidecar says of itself: workload in the id, pod in the cluster. There are no certificates in
// this test.
func byNode(_ context.Context, _ xds.Peer, node *corev3.Node) (xds.Grant, error) {
	if node.GetId() == "" {
		return xds.Grant{}, errors.New("no node id")
	}
	return xds.Grant{Key: node.GetId(), Identity: node.GetCluster()}, nil
}

// client is a sidecar's stream to a server that really runs.
func connect(t *testing.T, f *fixture, key,
	pod string) discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- f.publisher.Serve(ctx, listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Id: key, Cluster: pod}, TypeUrl: clusters}); err != nil {
		t.Fatal(err)
	}
	return stream
}

func receive(t *testing.T,
	s discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient) *discoveryv3.DeltaDiscoveryResponse {
	t.Helper()
	r, err := s.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var eventually = poll.Until

// TestNackOverXDS refuses and accepts as a sidecar does, over a connection.
func TestNackOverXDS(t *testing.T) {
	f := newFixture(t)
	f.mean(t, shop)
	stream := connect(t, f, front.String(), "p1")
	first := receive(t, stream)
	if !slices.ContainsFunc(first.GetResources(), func(r *discoveryv3.Resource) bool { return r.GetName() == toBack }) {
		t.Fatalf("the front gets %v", first)
	}
	nack := &discoveryv3.DeltaDiscoveryRequest{
		TypeUrl: clusters, ResponseNonce: first.GetNonce(), ErrorDetail: &statuspb.Status{Message: "no"},
	}
	if err := stream.Send(nack); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the refusal is a finding", func() bool { return strings.Contains(texts(f.Findings()), refused) })

	f.mean(t, shop+"\n---\n"+`{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualNode, metadata: {name: other, namespace: a}}`)
	if got := texts(f.Findings()); !strings.Contains(got, refused) {
		t.Errorf("something else changed, and the refusal is forgotten: %s", got)
	}
}

// A pod whose labels changed belongs to another workload: its sidecar is sent away, and placed anew when it comes back.
func TestSidecarIsDisconnectedWhenWorkloadChanges(t *testing.T) {
	f := newFixture(t)
	f.mean(t, shop)
	stream := connect(t, f, front.String(), "p1")
	receive(t, stream)
	f.mean(t, shop)
	if n := len(f.publisher.Clients()); n != 1 {
		t.Fatalf("%d sidecars are connected", n)
	}
	moved := objects(t, shop)
	for _, o := range moved {
		if o.GetName() == "front-1" {
			o.SetLabels(map[string]string{"app": "back"})
		}
	}
	f.apply(t, moved)
	if _, err := stream.Recv(); err == nil {
		t.Error("the stream goes on")
	}
}
