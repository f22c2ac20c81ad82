package xds

import (
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/delivery/grpcserver"
	"anymesh.dev/anymesh/internal/delivery/socket"
)

var (
	errRemoved = status.Error(codes.Unavailable, "the workload's configuration was removed")
	errMoved   = status.Error(codes.Unavailable, "the workload's configuration is to be asked for anew")
	errExpired = status.Error(codes.Unauthenticated, "the client certificate has expired, connect with a new one")
	errOver    = status.Error(codes.Unavailable, "the stream is over")
	errSlow    = status.Error(codes.DeadlineExceeded, "the client did not read its configuration in time")
)

// glance is how often the clock is compared with the end of a certificate: timers do not notice when the clock is set.
const glance = time.Minute

// stream is one client. What it says comes by Take, from whoever reads its connection; its turn writes.
type stream struct {
	server  *Server
	wire    *grpcserver.Stream
	world   bool        // in which variant of the protocol
	silence *time.Timer // cuts off a client that does not begin
	ended   atomic.Bool

	// Set when the client is authorised.
	group     *group
	identity  string
	address   string
	connected time.Time
	expires   time.Time // the client's certificate; zero if there is none

	writeTask socket.Task // to write
	patience  patience    // with a client that does not read

	// Guarded by the group's lock.
	session *session
	waiting *time.Timer // wakes when an answer is waited for no longer
	expiry  *time.Timer
	over    error // why the stream has to end
	left    bool  // it has ended; a late request changes nothing
}

// Take implements grpcserver.Call.
func (st *stream) Take(message []byte) {
	open := st.group != nil
	in := incoming{world: st.world}
	err := in.read(message)
	if err != nil {
		err = refuse(reasonMalformed, codes.InvalidArgument, "request: %s", err)
	}
	if err == nil && !open {
		err = st.enter(in.request)
	}
	if err == nil {
		err = st.receive(in.request)
	}
	if err != nil {
		st.server.metrics.refuse(err, open)
		st.finish(err)
	}
}

// End implements grpcserver.Call.
func (st *stream) End(err error) {
	said := status.Convert(err)
	switch said.Code() {
	case codes.ResourceExhausted:
		err = refuse(reasonSize, said.Code(), "request: %s", said.Message())
	case codes.Internal, codes.Unimplemented:
		err = refuse(reasonMalformed, codes.InvalidArgument, "request: %s", said.Message())
	}
	st.server.metrics.refuse(err, st.group != nil)
	st.finish(err)
}

// finish ends the stream for the client and for us. Only the first end counts.
func (st *stream) finish(err error) {
	if st.ended.Swap(true) {
		return
	}
	st.silence.Stop()
	st.patience.stop()
	st.server.metrics.end(err)
	st.wire.Finish(err)
	if st.group != nil {
		st.leave()
	}
}

func (st *stream) join(key string) {
	st.server.metrics.clients.Inc()
	st.server.groups.locked(key, func(g *group) {
		st.group = g
		g.streams = append(g.streams, st)
		st.lookAtTheClock()
	})
}

func (st *stream) leave() {
	st.group.telling.Lock()
	st.group.mu.Lock()
	st.group.streams = slices.DeleteFunc(st.group.streams, func(other *stream) bool { return other == st })
	st.left = true
	if st.over == nil {
		st.over = errOver
	}
	st.session.close(st.group.state)
	for _, t := range []*time.Timer{st.waiting, st.expiry} {
		if t != nil {
			t.Stop()
		}
	}
	last := true
	for _, other := range st.group.streams {
		last = last && other.identity != st.identity
	}
	st.group.mu.Unlock()
	if last {
		st.server.opts.Observer.Gone(st.group.key, st.identity)
	}
	st.group.telling.Unlock()
	st.server.groups.forgetIfUnused(st.group)
	st.server.visitors.leave(st.identity, st.wire.Conn())
	st.server.metrics.clients.Dec()
}

// end needs the group's lock.
func (st *stream) end(err error) {
	if st.over == nil {
		st.over = err
	}
	st.wakeUp()
}

// lookAtTheClock wakes the stream when its certificate expires. It needs the group's lock.
func (st *stream) lookAtTheClock() {
	if st.expires.IsZero() {
		return
	}
	left := func() time.Duration { return min(glance, max(st.expires.Sub(st.server.clock()), time.Millisecond)) }
	st.expiry = time.AfterFunc(left(), func() {
		st.group.mu.Lock()
		if !st.left {
			st.expiry.Reset(left())
		}
		st.group.mu.Unlock()
		st.wakeUp()
	})
}

func (st *stream) receive(req request) error {
	now := time.Now()
	st.group.telling.Lock()
	defer st.group.telling.Unlock()
	st.group.mu.Lock()
	if st.left {
		st.group.mu.Unlock()
		return nil
	}
	did, err := st.session.handle(req, st.group.state, now)
	due := st.session.due()
	st.group.mu.Unlock()
	if err != nil {
		return err
	}
	if due { // most often it was an ACK, and there is not
		st.wakeUp()
	}
	st.tell(req.typeURL, did, now)
	return nil
}

// tell passes an answer on.
func (st *stream) tell(typeURL string, did reaction, now time.Time) {
	m, observer := st.server.metrics, st.server.opts.Observer
	switch {
	case did.acked:
		m.of(typeURL).acks.Inc()
		m.latency.Observe(now.Sub(did.flight.changed).Seconds())
		if len(did.refuses) == 0 {
			observer.Acked(st.group.key, st.identity, typeURL, did.flight.version)
		}
	case did.rejected:
		m.of(typeURL).nacks.Inc()
		st.server.opts.Logger.Warn("configuration rejected", "key", st.group.key, "client", st.identity,
			"type", label(typeURL), "resources", len(did.flight.resources), "message", did.message)
		observer.Rejected(st.group.key, st.identity, typeURL, did.refuses, did.message)
	case did.unknownNonce:
		m.of(typeURL).unknown.Inc()
	}
}
