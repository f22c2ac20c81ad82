package xds

import (
	"errors"
	"io"
	"sync/atomic"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	errRemoved = status.Error(codes.Unavailable, "the workload's configuration was removed")
	errMoved   = status.Error(codes.Unavailable, "the workload's configuration is to be asked for anew")
	errExpired = status.Error(codes.Unauthenticated, "the client certificate has expired, connect with a new one")
	errSlow    = status.Error(codes.DeadlineExceeded, "the client did not read its configuration in time")
)

type deltaStream = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer

// stream is one authorised client.
type stream struct {
	server    *Server
	group     *group
	identity  string
	address   string
	connected time.Time
	wake      chan struct{} // holds one: wake-ups merge

	// Guarded by the group's lock.
	session *session
	over    error // why the stream has to end
	left    bool  // it has ended; a late request changes nothing
}

// DeltaAggregatedResources serves one client until either side ends it.
func (s *Server) DeltaAggregatedResources(conn deltaStream) error {
	peer, cut := peerOf(conn.Context())
	first, err := s.firstRequest(conn, cut)
	if err != nil {
		return err
	}
	grant, err := s.admit(conn, peer, first)
	if err != nil {
		s.opts.Logger.Warn("client refused", "address", peer.Address, "node", first.GetNode().GetId(), "error", err)
		return err
	}
	defer s.release(grant.Identity)
	st := &stream{
		server: s, identity: grant.Identity, address: peer.Address, connected: time.Now(),
		wake: make(chan struct{}, 1), session: newSession(&s.opts, first.GetNode()),
	}
	st.join(grant.Key)
	defer st.leave()
	if err := st.receive(first); err != nil {
		s.metrics.refused.WithLabelValues("request").Inc()
		return err
	}
	go st.read(conn)
	return st.write(conn, peer.expires(), cut)
}

func (s *Server) firstRequest(conn deltaStream, cut func()) (*discoveryv3.DeltaDiscoveryRequest, error) {
	patience := time.AfterFunc(s.opts.FirstRequestTimeout, func() {
		s.metrics.ended.WithLabelValues("silent").Inc()
		cut()
	})
	defer patience.Stop()
	return conn.Recv()
}

func (s *Server) admit(conn deltaStream, peer Peer, first *discoveryv3.DeltaDiscoveryRequest) (Grant, error) {
	refuse := func(reason string, err error) (Grant, error) {
		s.metrics.refused.WithLabelValues(reason).Inc()
		return Grant{}, err
	}
	if n := nodeSize(first.GetNode()); n > s.opts.NodeSize {
		return refuse("request", status.Errorf(codes.InvalidArgument, "the node has %d bytes, at most %d are allowed", n, s.opts.NodeSize))
	}
	grant, err := s.authorize(conn.Context(), peer, first.GetNode())
	if err != nil {
		if _, ok := status.FromError(err); !ok {
			err = status.Error(codes.PermissionDenied, err.Error())
		}
		return refuse("denied", err)
	}
	if !s.reserve(grant.Identity) {
		return refuse("streams", status.Errorf(codes.ResourceExhausted, "more than %d streams of %s", s.opts.StreamsPerIdentity, grant.Identity))
	}
	return grant, nil
}

func (st *stream) join(key string) {
	st.server.groups.locked(key, func(g *group) {
		st.group = g
		g.streams[st] = struct{}{}
	})
	st.server.metrics.clients.Inc()
}

func (st *stream) leave() {
	st.group.telling.Lock()
	st.group.mu.Lock()
	delete(st.group.streams, st)
	st.left = true
	st.session.close(st.group.state)
	last := true
	for other := range st.group.streams {
		last = last && other.identity != st.identity
	}
	st.group.mu.Unlock()
	if last {
		st.server.opts.Observer.Gone(st.group.key, st.identity)
	}
	st.group.telling.Unlock()
	st.server.groups.forgetIfUnused(st.group)
	st.server.metrics.clients.Dec()
}

func (st *stream) wakeUp() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// end needs the group's lock.
func (st *stream) end(err error) {
	if st.over == nil {
		st.over = err
	}
	st.wakeUp()
}

// read takes requests until the stream ends. It outlives write by the moment
// that gRPC takes to tell it.
func (st *stream) read(conn deltaStream) {
	for {
		req, err := conn.Recv()
		if err == nil {
			err = st.receive(req)
			if err != nil {
				st.server.metrics.ended.WithLabelValues("request").Inc()
			}
		}
		if err != nil {
			st.group.mu.Lock()
			st.end(err)
			st.group.mu.Unlock()
			return
		}
	}
}

func (st *stream) receive(req *discoveryv3.DeltaDiscoveryRequest) error {
	now := time.Now()
	st.group.telling.Lock()
	defer st.group.telling.Unlock()
	st.group.mu.Lock()
	if st.left {
		st.group.mu.Unlock()
		return nil
	}
	did, err := st.session.handle(req, st.group.state, now)
	st.group.mu.Unlock()
	if err != nil {
		return err
	}
	st.wakeUp()

	kind, m, observer := label(req.GetTypeUrl()), st.server.metrics, st.server.opts.Observer
	switch {
	case did.acked:
		m.answers.WithLabelValues(kind, "ack").Inc()
		m.latency.Observe(now.Sub(did.flight.changed).Seconds())
		if len(did.refuses) == 0 {
			observer.Acked(st.group.key, st.identity, req.GetTypeUrl(), did.flight.version)
		}
	case did.rejected:
		m.answers.WithLabelValues(kind, "nack").Inc()
		st.server.opts.Logger.Warn("configuration rejected", "key", st.group.key, "client", st.identity,
			"type", kind, "resources", len(did.flight.resources), "message", did.message)
		observer.Rejected(st.group.key, st.identity, req.GetTypeUrl(), did.refuses, did.message)
	case did.unknownNonce:
		m.answers.WithLabelValues(kind, "unknown").Inc()
	}
	return nil
}

// next is what to send now, or how long to wait at most; 0 is until woken.
func (st *stream) next() (*response, time.Duration, error) {
	st.group.mu.Lock()
	defer st.group.mu.Unlock()
	if st.over != nil || !st.group.published {
		return nil, 0, st.over
	}
	out, wait := st.session.next(time.Now())
	return out, wait, nil
}

func (st *stream) write(conn deltaStream, expires time.Time, cut func()) error {
	var expired <-chan time.Time
	if !expires.IsZero() {
		t := time.NewTimer(time.Until(expires))
		defer t.Stop()
		expired = t.C
	}
	patience := time.NewTimer(0)
	defer patience.Stop()
	for {
		out, wait, err := st.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil // the client is done
		case err != nil:
			if errors.Is(err, errRemoved) || errors.Is(err, errMoved) {
				st.server.metrics.ended.WithLabelValues("removed").Inc()
			}
			return err
		case out != nil:
			if err := st.send(conn, out, cut); err != nil {
				return err
			}
			continue
		}
		var again <-chan time.Time
		if wait > 0 {
			patience.Reset(wait)
			again = patience.C
		}
		select {
		case <-st.wake:
		case <-again:
		case <-expired:
			st.server.metrics.ended.WithLabelValues("expired").Inc()
			return errExpired
		case <-conn.Context().Done():
			return conn.Context().Err()
		}
	}
}

// send blocks while the client's flow-control window is full, but not for ever.
func (st *stream) send(conn deltaStream, out *response, cut func()) error {
	var slow atomic.Bool
	patience := time.AfterFunc(st.server.opts.SendTimeout, func() {
		slow.Store(true)
		cut()
	})
	defer patience.Stop()
	f := frame(out.encode())
	if err := conn.SendMsg(f); err != nil {
		if !slow.Load() {
			return err
		}
		st.server.metrics.ended.WithLabelValues("slow").Inc()
		st.server.opts.Logger.Warn("slow client cut off", "key", st.group.key, "client", st.identity)
		return errSlow
	}
	st.server.metrics.sent(out, f.size())
	return nil
}
