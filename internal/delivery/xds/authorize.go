package xds

import (
	"context"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/delivery/grpcserver"
	"anymesh.dev/anymesh/internal/truncate"
)

// Grant is the authorization of a client.
type Grant struct {
	// Key is the workload key whose resources the client receives.
	Key string
	// Identity names the client in status, metrics and limits, for example its pod.
	Identity string
}

// Authorizer authorizes the first request of a stream. Only the certificate of the peer is authenticated. The node is
// the client's own claim, with ID and cluster only; it may be nil, and may only restrict the result. An error with a
// gRPC status is returned to the client; any other error becomes PermissionDenied.
type Authorizer func(ctx context.Context, peer Peer, node *corev3.Node) (Grant, error)

// callHandler returns the handler of new streams of a protocol variant.
func (s *Server) callHandler(sotw bool) func(*grpcserver.Stream) grpcserver.StreamHandler {
	return func(rpc *grpcserver.Stream) grpcserver.StreamHandler {
		st := &stream{server: s, rpc: rpc, sotw: sotw,
			firstRequestTimer: time.AfterFunc(s.opts.FirstRequestTimeout, func() {
				s.metrics.closed.WithLabelValues(reasonFirstRequestTimeout).Inc()
				_ = rpc.Conn().Close() // the stream has failed in any case
			})}
		st.writeTask.Run = st.sendPending
		st.watchdog = sendWatchdog{limit: s.opts.SendTimeout, onTimeout: st.sendTimedOut}
		return st
	}
}

// authorize authorizes the first request and registers the stream. Only the node of the request is decoded.
func (st *stream) authorize(first []byte) error {
	st.firstRequestTimer.Stop()
	s, peer := st.server, peerOf(st.rpc)
	node, size, err := decodeNode(first, st.sotw)
	if err == nil {
		err = s.checkNode(node, size)
	}
	var grant Grant
	if err == nil {
		grant, err = s.grant(st.rpc.Context(), peer, node)
	}
	var cut string
	if err == nil {
		st.usage, cut, err = s.clientLimits.acquire(grant.Identity, st.rpc.Conn())
	}
	if err != nil {
		s.opts.Logger.Warn("client refused", "address", peer.Address, "node",
			truncate.Text(node.GetId(), s.opts.MaxNameSize), "error", err)
		return err
	}
	if cut != "" {
		s.closeNewestStream(cut)
	}
	st.identity, st.address, st.connected, st.certExpiry = grant.Identity, peer.Address, time.Now(), peer.certExpiry()
	st.session = newSession(&s.opts, node, st.sotw)
	st.session.budget = &st.usage.budget
	st.join(grant.Key)
	return nil
}

// checkNode checks a node whose length, without extensions, is size.
func (s *Server) checkNode(node *corev3.Node, size int) error {
	if size > s.opts.MaxNodeSize {
		return refuse(reasonNode, codes.InvalidArgument, "the node has %d bytes, at most %d are allowed", size,
			s.opts.MaxNodeSize)
	}
	if n := max(len(node.GetId()), len(node.GetCluster())); n > s.opts.MaxNameSize {
		return refuse(reasonNode, codes.InvalidArgument, "ID or cluster of the node has %d bytes, at most %d are allowed",
			n, s.opts.MaxNameSize)
	}
	return nil
}

func (s *Server) grant(ctx context.Context, peer Peer, node *corev3.Node) (Grant, error) {
	grant, err := s.authorize(ctx, peer, node)
	if err == nil {
		return grant, nil
	}
	said, ok := status.FromError(err)
	if !ok {
		said = status.New(codes.PermissionDenied, err.Error())
	}
	return Grant{}, refuse(reasonPermissionDenied, said.Code(), "%s", said.Message())
}
