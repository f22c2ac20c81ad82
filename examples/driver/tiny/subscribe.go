package tiny

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"anymesh.dev/anymesh/model"
	"example.com/tiny/proxy"
)

// subscription is what the sidecar has received over xDS.
type subscription struct {
	mesh *proxy.Mesh
	// versions are the resource versions by type and name. After a reconnect, the server sends only changed
	// resources.
	versions map[string]map[string]string
}

// Follow is the proxy.Source of the driver: a delta stream of xDS on the socket of the agent. It reopens streams that
// end.
func Follow(ctx context.Context, socket, node string, m *proxy.Mesh) {
	s := subscription{m, map[string]map[string]string{viewType: {}, destinationType: {}}}
	for ctx.Err() == nil {
		if err := s.stream(ctx, socket, node); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "tiny: the stream to the control plane ended:", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// stream opens a delta stream for both types and applies the responses.
func (s subscription) stream(ctx context.Context, socket, node string) error {
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		return err
	}
	for kind, versions := range s.versions {
		first := &discoveryv3.DeltaDiscoveryRequest{
			Node: &corev3.Node{Id: node}, TypeUrl: kind, ResourceNamesSubscribe: []string{"*"},
			InitialResourceVersions: versions,
		}
		if err := stream.Send(first); err != nil {
			return err
		}
	}
	for {
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: response.GetTypeUrl(), ResponseNonce: response.GetNonce()}
		if err := s.take(response); err != nil {
			return err // a complete driver would NACK with ErrorDetail and continue
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

func (s subscription) take(response *discoveryv3.DeltaDiscoveryResponse) error {
	versions := s.versions[response.GetTypeUrl()]
	for _, r := range response.GetResources() {
		body := r.GetResource().GetValue()
		var err error
		if response.GetTypeUrl() == viewType {
			view := &model.View{}
			if err = json.Unmarshal(body, view); err == nil {
				s.mesh.SetView(view)
			}
		} else {
			var resolved model.ResolvedDestination
			if err = json.Unmarshal(body, &resolved); err == nil {
				s.mesh.SetDestination(resolved)
			}
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", response.GetTypeUrl(), r.GetName(), err)
		}
		versions[r.GetName()] = r.GetVersion()
	}
	for _, name := range response.GetRemovedResources() {
		delete(versions, name)
		s.mesh.RemoveDestination(name)
	}
	return nil
}
