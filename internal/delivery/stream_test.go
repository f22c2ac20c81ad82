package delivery_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/test/poll"
)

// byNode authorizes clients by their node, without certificates: the ID is the workload, the cluster is the pod.
func byNode(_ context.Context, _ xds.Peer, node *corev3.Node) (xds.Grant, error) {
	if node.GetId() == "" {
		return xds.Grant{}, errors.New("no node ID")
	}
	return xds.Grant{Key: node.GetId(), Identity: node.GetCluster()}, nil
}

// connect starts the server and returns the ADS stream of a client.
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

func TestNackOverXDS(t *testing.T) {
	f := newFixture(t)
	f.applyYAML(t, shop)
	stream := connect(t, f, front.String(), "p1")
	first := receive(t, stream)
	if !slices.ContainsFunc(first.GetResources(), func(r *discoveryv3.Resource) bool { return r.GetName() == toBack }) {
		t.Fatalf("got response %v", first)
	}
	nack := &discoveryv3.DeltaDiscoveryRequest{
		TypeUrl: clusters, ResponseNonce: first.GetNonce(), ErrorDetail: &statuspb.Status{Message: "no"},
	}
	if err := stream.Send(nack); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a finding about the rejected resource", func() bool {
		return strings.Contains(texts(f.Findings()), rejectedFinding)
	})

	f.applyYAML(t, shop+"\n---\n"+`{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualNode, metadata: {name: other, namespace: a}}`)
	if got := texts(f.Findings()); !strings.Contains(got, rejectedFinding) {
		t.Errorf("after an unrelated change: got findings %s", got)
	}
}

// If the labels of a pod select another workload, its sidecar is disconnected and gets the other configuration when
// it reconnects.
func TestSidecarIsDisconnectedWhenWorkloadChanges(t *testing.T) {
	f := newFixture(t)
	f.applyYAML(t, shop)
	stream := connect(t, f, front.String(), "p1")
	receive(t, stream)
	f.applyYAML(t, shop)
	if n := len(f.publisher.Clients()); n != 1 {
		t.Fatalf("got %d connected sidecars, want 1", n)
	}
	moved := objects(t, shop)
	for _, o := range moved {
		if o.GetName() == "front-1" {
			o.SetLabels(map[string]string{"app": "back"})
		}
	}
	f.apply(moved)
	if _, err := stream.Recv(); err == nil {
		t.Error("the stream is still open")
	}
}

// A sidecar is disconnected when its pod is no instance of a workload any more, or is gone; not while it is deleted.
func TestSidecarIsDisconnectedWithoutWorkload(t *testing.T) {
	for name, change := range map[string]func(o client.Object) (keep, open bool){
		"relabeled": func(o client.Object) (bool, bool) {
			o.SetLabels(map[string]string{"app": "nothing"})
			return true, false
		},
		"gone": func(client.Object) (bool, bool) { return false, false },
		"being deleted": func(o client.Object) (bool, bool) {
			now := metav1.Now()
			o.SetDeletionTimestamp(&now)
			return true, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.applyYAML(t, shop)
			stream := connect(t, f, front.String(), "p1")
			receive(t, stream)
			var changed []client.Object
			open := false
			for _, o := range objects(t, shop) {
				keep := true
				if o.GetName() == "front-1" {
					keep, open = change(o)
				}
				if keep {
					changed = append(changed, o)
				}
			}
			f.apply(changed)
			if n := len(f.publisher.Clients()); open && n != 1 {
				t.Errorf("%d connected sidecars, want 1", n)
			}
			for !open { // until the test's own limit
				if _, err := stream.Recv(); err != nil {
					break
				}
			}
		})
	}
}
