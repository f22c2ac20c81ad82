package xds

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Grant is what an authorised client may have.
type Grant struct {
	// Key of the workload whose configuration it gets.
	Key string
	// Identity names the client in status and limits, for example its pod.
	Identity string
}

// Authorizer decides on the first request of a stream. The peer's certificate
// is the only proof of who asks; the node is what the client says about itself
// (it may be nil) and can only narrow. An error with a gRPC status is passed
// on, any other becomes PermissionDenied; nothing else is sent to the client.
type Authorizer func(ctx context.Context, peer Peer, node *corev3.Node) (Grant, error)

// conn is a gRPC stream of either variant.
type conn struct {
	grpcStream
	world bool
	cut   func() // closes the connection
}

type grpcStream interface {
	Context() context.Context
	SendMsg(any) error
	RecvMsg(any) error
}

func (c conn) recv() (request, error) {
	in := incoming{world: c.world}
	err := c.RecvMsg(&in)
	return in.request, err
}

// finish tells the client the end of the stream; nil and io.EOF are good ones. From then on, gRPC lets nobody wait for the client. It does the
// same when the handler returns, but ours is one that waits.
func (c conn) finish(err error) {
	transport, ok := grpc.ServerTransportStreamFromContext(c.Context()).(interface{ WriteStatus(*status.Status) error })
	if !ok {
		c.cut()
		return
	}
	end := status.New(codes.OK, "")
	if err != nil && !errors.Is(err, io.EOF) {
		end = status.Convert(err)
	}
	_ = transport.WriteStatus(end) // only the first end counts, and the client may be gone
}

// DeltaAggregatedResources serves one client of the incremental variant until either side ends it.
func (s *Server) DeltaAggregatedResources(g discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return s.stream(conn{grpcStream: g})
}

// StreamAggregatedResources serves one client of the state-of-the-world variant until either side ends it.
func (s *Server) StreamAggregatedResources(g discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return s.stream(conn{grpcStream: g, world: true})
}

func (s *Server) stream(c conn) error {
	peer, info := peerOf(c.Context())
	c.cut = info.close
	first, grant, err := s.enter(c, peer, info.conn)
	if err != nil {
		s.metrics.refuse(err, false)
		return err
	}
	defer s.visitors.leave(grant.Identity, info.conn)
	st := &stream{
		server: s, conn: c, identity: grant.Identity, address: peer.Address, connected: time.Now(), expires: peer.expires(),
		session: newSession(&s.opts, first.node, c.world),
	}
	st.join(grant.Key)
	defer st.leave()
	st.lookAtTheClock()
	if err := st.receive(first); err != nil {
		s.metrics.refuse(err, false)
		return st.close(err)
	}
	return st.close(st.read())
}

// enter takes the first request, and says what the client may have.
func (s *Server) enter(c conn, peer Peer, from net.Conn) (first request, grant Grant, err error) {
	if first, err = s.firstRequest(c); err != nil {
		return first, grant, unreadable(err)
	}
	grant, err = s.admit(c, peer, first.node)
	if err == nil {
		err = s.visitors.enter(grant.Identity, from)
	}
	if err != nil {
		s.opts.Logger.Warn("client refused", "address", peer.Address, "node", truncate(first.node.GetId(), s.opts.NameSize), "error", err)
	}
	return first, grant, err
}

func (s *Server) firstRequest(c conn) (request, error) {
	patience := time.AfterFunc(s.opts.FirstRequestTimeout, func() {
		s.metrics.ended.WithLabelValues(reasonSilent).Inc()
		c.cut()
	})
	defer patience.Stop()
	return c.recv()
}

func (s *Server) admit(c conn, peer Peer, node *corev3.Node) (Grant, error) {
	if n := proto.Size(node); n > s.opts.NodeSize {
		return Grant{}, refuse(reasonNode, codes.InvalidArgument, "the node has %d bytes, at most %d are allowed", n, s.opts.NodeSize)
	}
	grant, err := s.authorize(c.Context(), peer, node)
	if err == nil {
		return grant, nil
	}
	said, ok := status.FromError(err)
	if !ok {
		said = status.New(codes.PermissionDenied, err.Error())
	}
	return Grant{}, refuse(reasonDenied, said.Code(), "%s", said.Message())
}
