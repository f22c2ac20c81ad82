package xds

import (
	"context"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"anymesh.dev/anymesh/internal/delivery/grpcserver"
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

// serve is what a client that opens a stream of either variant gets.
func (s *Server) serve(world bool) func(*grpcserver.Stream) grpcserver.Call {
	return func(wire *grpcserver.Stream) grpcserver.Call {
		st := &stream{server: s, wire: wire, world: world, silence: time.AfterFunc(s.opts.FirstRequestTimeout, func() {
			s.metrics.ended.WithLabelValues(reasonSilent).Inc()
			_ = wire.Conn().Close() // it is lost either way
		})}
		st.writeTask.Run = st.drain
		st.patience = patience{limit: s.opts.SendTimeout, over: func() { _ = wire.Conn().Close() }} // which interrupts whoever writes to it
		return st
	}
}

// enter says what the client may have, and lets it in.
func (st *stream) enter(first request) error {
	st.silence.Stop()
	s, peer := st.server, peerOf(st.wire)
	grant, err := s.admit(st.wire.Context(), peer, first.node)
	if err == nil {
		err = s.visitors.enter(grant.Identity, st.wire.Conn())
	}
	if err != nil {
		s.opts.Logger.Warn("client refused", "address", peer.Address, "node", truncate(first.node.GetId(), s.opts.NameSize), "error", err)
		return err
	}
	st.identity, st.address, st.connected, st.expires = grant.Identity, peer.Address, time.Now(), peer.expires()
	st.session = newSession(&s.opts, first.node, st.world)
	st.join(grant.Key)
	return nil
}

func (s *Server) admit(ctx context.Context, peer Peer, node *corev3.Node) (Grant, error) {
	if n := proto.Size(node); n > s.opts.NodeSize {
		return Grant{}, refuse(reasonNode, codes.InvalidArgument, "the node has %d bytes, at most %d are allowed", n, s.opts.NodeSize)
	}
	grant, err := s.authorize(ctx, peer, node)
	if err == nil {
		return grant, nil
	}
	said, ok := status.FromError(err)
	if !ok {
		said = status.New(codes.PermissionDenied, err.Error())
	}
	return Grant{}, refuse(reasonDenied, said.Code(), "%s", said.Message())
}
