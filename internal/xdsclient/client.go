// Package xdsclient follows one type of resources in a pod.
//
// In: a delta xDS stream, which the agent of the pod relays. Out: the changes, for a function that takes them, and an
// answer to each response: resources that the function refuses are rejected.
package xdsclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
)

// The pause before a stream is opened again, which doubles up to the greatest.
const (
	firstPause    = 250 * time.Millisecond
	greatestPause = 5 * time.Second
)

// Change is a new body of a resource, or nil for one that is removed.
type Change struct {
	Name string
	Body []byte
}

// Take takes the changes of a response, and returns the errors of those that it refuses, by name.
type Take func([]Change) map[string]error

// Options are what a client follows.
type Options struct {
	// Socket is the Unix domain socket on which the agent relays the control plane, and Node the xDS node ID.
	Socket, Node string
	// Type is the xDS type of the resources. All of them are followed.
	Type string
}

// Follow follows the resources until the context ends. It connects again when a stream ends. The error is about the
// options.
func Follow(ctx context.Context, o Options, take Take, log *slog.Logger) error {
	conn, err := grpc.NewClient("unix:"+o.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		return fmt.Errorf("discovery on %s: %w", o.Socket, err)
	}
	c := &client{
		Options: o, api: discoveryv3.NewAggregatedDiscoveryServiceClient(conn), take: take, log: log,
		versions: map[string]string{},
	}
	c.follow(ctx)
	return conn.Close()
}

// client follows a stream.
type client struct {
	Options
	api  discoveryv3.AggregatedDiscoveryServiceClient
	take Take
	log  *slog.Logger
	// versions are those of the resources that were taken: after a new connection, the server sends changes only.
	versions map[string]string
}

// follow opens a stream again and again until the context ends.
func (c *client) follow(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		received, err := c.stream(ctx)
		if ctx.Err() != nil {
			return
		}
		c.log.Warn("the stream of the configuration ended", "error", err)
		if received {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, greatestPause)
	}
}

// stream receives on one stream until it ends.
func (c *client) stream(ctx context.Context) (received bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.api.DeltaAggregatedResources(ctx)
	if err != nil {
		return false, err
	}
	err = stream.Send(&discoveryv3.DeltaDiscoveryRequest{
		Node: &corev3.Node{Id: c.Node}, TypeUrl: c.Type, ResourceNamesSubscribe: []string{"*"},
		InitialResourceVersions: c.versions,
	})
	for err == nil {
		var response *discoveryv3.DeltaDiscoveryResponse
		if response, err = stream.Recv(); err != nil {
			break
		}
		received = true
		answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: c.Type, ResponseNonce: response.GetNonce()}
		if refused := c.respond(response); refused != nil {
			c.log.Error("a part of the configuration is refused", "error", refused)
			answer.ErrorDetail = &statuspb.Status{Code: int32(codes.InvalidArgument), Message: refused.Error()}
		}
		err = stream.Send(answer)
	}
	return received, err
}

// respond takes the changes of a response. The error has the reason of each resource that is refused.
func (c *client) respond(response *discoveryv3.DeltaDiscoveryResponse) error {
	var changes []Change
	for _, r := range response.GetResources() {
		changes = append(changes, Change{r.GetName(), append([]byte{}, r.GetResource().GetValue()...)})
	}
	for _, name := range response.GetRemovedResources() {
		changes = append(changes, Change{Name: name})
	}
	refused := c.take(changes)
	c.log.Debug("the configuration has changed", "resources", len(response.GetResources()),
		"removed", len(response.GetRemovedResources()), "refused", len(refused))
	for _, r := range response.GetResources() {
		if refused[r.GetName()] == nil {
			c.versions[r.GetName()] = r.GetVersion()
		}
	}
	for _, name := range response.GetRemovedResources() {
		delete(c.versions, name)
	}
	var all error
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		all = errors.Join(all, fmt.Errorf("%s: %w", name, refused[name]))
	}
	return all
}
