package discovery

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

	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
)

// The pause before a stream is opened again, which doubles up to the greatest.
const (
	firstPause    = 250 * time.Millisecond
	greatestPause = 5 * time.Second
)

// drainTime is how long sessions and requests may go on after the context of Run has ended.
const drainTime = 10 * time.Second

// Options are the settings of a proxy.
type Options struct {
	// Socket is the Unix domain socket on which the agent relays the configuration, and Node the xDS node ID.
	Socket, Node string
	// Admin is the Unix domain socket for DrainPath; empty for none.
	Admin string
}

// Run runs a proxy until the context ends, with the configuration that the agent relays. Then sessions and requests may
// go on for 10 seconds.
func Run(ctx context.Context, o Options, log *slog.Logger) error {
	conn, err := grpc.NewClient("unix:"+o.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		return fmt.Errorf("discovery on %s: %w", o.Socket, err)
	}
	ignoreReopen()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	p := proxy.New(running, log)
	c := &client{
		parts: parts{proxy: p, applied: map[string]*config.Config{}, owners: map[object]string{}}, versions: map[string]string{},
		api: discoveryv3.NewAggregatedDiscoveryServiceClient(conn), node: o.Node, log: log,
	}
	if o.Admin != "" {
		if err := serveAdmin(running, o.Admin, p.Retire, log); err != nil {
			return err
		}
	}
	c.follow(ctx)
	limit, cancel := context.WithTimeout(running, drainTime)
	defer cancel()
	p.Drain(limit)
	stop()
	p.Wait()
	return conn.Close()
}

// client follows a stream.
type client struct {
	parts
	api  discoveryv3.AggregatedDiscoveryServiceClient
	node string
	log  *slog.Logger
	// versions are those of the parts that the proxy has: after a new connection, the server sends changes only.
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
		Node: &corev3.Node{Id: c.node}, TypeUrl: config.ResourceType, ResourceNamesSubscribe: []string{"*"},
		InitialResourceVersions: c.versions,
	})
	for err == nil {
		var response *discoveryv3.DeltaDiscoveryResponse
		if response, err = stream.Recv(); err != nil {
			break
		}
		received = true
		answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: config.ResourceType, ResponseNonce: response.GetNonce()}
		if refused := c.take(response); refused != nil {
			c.log.Error("the proxy refuses a part of the configuration", "error", refused)
			answer.ErrorDetail = &statuspb.Status{Code: int32(codes.InvalidArgument), Message: refused.Error()}
		}
		err = stream.Send(answer)
	}
	return received, err
}

// take applies a response. The error has the reason of each part that is refused: the proxy keeps the one before.
func (c *client) take(response *discoveryv3.DeltaDiscoveryResponse) error {
	var changes []change
	refused := map[string]error{}
	for _, r := range response.GetResources() {
		part, err := parse(r.GetResource().GetValue())
		if err != nil {
			refused[r.GetName()] = err
			continue
		}
		changes = append(changes, change{r.GetName(), part})
	}
	for _, name := range response.GetRemovedResources() {
		changes = append(changes, change{name: name})
	}
	maps.Copy(refused, c.apply(changes))
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
