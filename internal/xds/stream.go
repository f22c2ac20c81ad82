package xds

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	errRemoved = status.Error(codes.Unavailable, "the workload's configuration was removed")
	errMoved   = status.Error(codes.Unavailable, "the workload's configuration is to be asked for anew")
	errExpired = status.Error(codes.Unauthenticated, "the client certificate has expired, connect with a new one")
	errSlow    = status.Error(codes.DeadlineExceeded, "the client did not read its configuration in time")
)

// glance is how often the clock is compared with the end of a certificate: timers do not notice when the clock is set.
const glance = time.Minute

// stream is one authorised client. The goroutine that gRPC gives it reads and takes in requests; another one writes while there is
// something to.
type stream struct {
	server    *Server
	conn      conn
	group     *group
	identity  string
	address   string
	connected time.Time
	expires   time.Time // the client's certificate; zero if there is none

	writer   atomic.Int32  // asleep, awake, again or closing
	written  chan struct{} // closed by a writer that found the stream closing
	finished bool          // the writer has told the client the end
	patience *time.Timer   // wakes when an answer is waited for no longer
	expiry   *time.Timer
	sending  *time.Timer // cuts off a client that does not read
	slow     atomic.Bool // it did

	// Guarded by the group's lock.
	session *session
	over    error // why the stream has to end
	left    bool  // it has ended; a late request changes nothing
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
	for _, t := range []*time.Timer{st.patience, st.expiry, st.sending} {
		if t != nil {
			t.Stop()
		}
	}
}

// end needs the group's lock.
func (st *stream) end(err error) {
	if st.over == nil {
		st.over = err
	}
	st.wakeUp()
}

// read takes requests until the stream ends, and says why it did.
func (st *stream) read() error {
	for {
		req, err := st.conn.recv()
		if err == nil {
			err = st.receive(req)
		} else {
			err = unreadable(err)
		}
		if err != nil {
			st.server.metrics.refuse(err, true)
			return err
		}
	}
}

// unreadable gives a request that gRPC did not take its reason.
func unreadable(err error) error {
	switch status.Code(err) {
	case codes.ResourceExhausted:
		return refuse(reasonSize, codes.ResourceExhausted, "request: %s", status.Convert(err).Message())
	case codes.Internal:
		return refuse(reasonMalformed, codes.InvalidArgument, "request: %s", status.Convert(err).Message())
	}
	return err
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
