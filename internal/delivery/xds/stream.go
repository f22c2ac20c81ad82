package xds

import (
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/delivery/grpcserver"
	"anymesh.dev/anymesh/internal/delivery/socket"
	"anymesh.dev/anymesh/internal/timerslack"
)

var (
	errRemoved   = status.Error(codes.Unavailable, "the workload's configuration was removed")
	errReconnect = status.Error(codes.Unavailable, "the workload's configuration moved, reconnect")
	errExpired   = status.Error(codes.Unauthenticated,
		"the client certificate has expired, reconnect with a new one")
	errStreamClosed = status.Error(codes.Unavailable, "the stream is closed")
	errMaxStreams   = refuse(reasonMaxStreams, codes.ResourceExhausted,
		"there are too many streams, and this client has most of them; close some")
	errSendTimeout = status.Error(codes.DeadlineExceeded, "the client did not read its configuration in time")
)

// expiryCheckInterval is the interval of checks of the certificate expiry. A single timer is not sufficient: timers
// do not fire when the system clock is set.
const expiryCheckInterval = time.Minute

// stream is one ADS stream. Requests arrive through OnMessage, on the goroutine that reads the connection. writeTask
// sends responses.
type stream struct {
	server            *Server
	rpc               *grpcserver.Stream
	sotw              bool        // protocol variant
	firstRequestTimer *time.Timer // closes the connection of a client that sends no request
	finished          atomic.Bool

	// Set when the client is authorized.
	group      *group
	usage      *clientUsage
	identity   string
	address    string
	connected  time.Time
	certExpiry time.Time // expiry of the client's certificate chain; zero without one

	writeTask socket.Task  // runs sendPending
	watchdog  sendWatchdog // limits the duration of a send

	// Guarded by the group's lock.
	session     *session
	ackTimer    *time.Timer // fires when the wait for an ACK ends
	expiryTimer *time.Timer
	closeErr    error // reason to close the stream
	closed      bool  // the stream left its group; later requests are ignored
}

// OnMessage implements grpcserver.StreamHandler.
func (st *stream) OnMessage(message []byte) {
	open := st.group != nil
	var err error
	if !open {
		err = st.authorize(message)
	}
	if err == nil {
		err = st.handleMessage(message, !open)
	}
	if err != nil {
		st.server.metrics.countRefusal(err, open)
		st.finish(err)
		return
	}
	if identity := st.server.clientLimits.overBudget(); identity != "" {
		st.server.closeStreams(identity)
	}
}

// handleMessage decodes and handles a request of an authorized stream.
func (st *stream) handleMessage(message []byte, first bool) error {
	st.usage.handling.Lock()
	defer st.usage.handling.Unlock()
	req, err := decodeRequest(message, st.sotw, &st.server.opts)
	if err == nil && !first {
		req.node, _, err = decodeNode(message, st.sotw)
	}
	if err != nil {
		return err
	}
	defer req.release()
	return st.handleRequest(req)
}

// closeNewestStream closes the newest stream of an identity, since there are too many streams.
func (s *Server) closeNewestStream(identity string) {
	if all := s.identities.of(identity); len(all) > 0 {
		all[len(all)-1].cut(errMaxStreams)
	}
}

// closeStreams closes all streams of the identity with the largest subscriptions.
func (s *Server) closeStreams(identity string) {
	for _, st := range s.identities.of(identity) {
		st.cut(errCut)
	}
}

// cut closes a stream of another client than that whose request is handled. It does not wait for the client to read.
func (st *stream) cut(err error) {
	st.server.metrics.countRefusal(err, true)
	go st.finish(err)
}

// OnEnd implements grpcserver.StreamHandler.
func (st *stream) OnEnd(err error) {
	said := status.Convert(err)
	switch said.Code() {
	case codes.ResourceExhausted:
		err = refuse(reasonRequestSize, said.Code(), "request: %s", said.Message())
	case codes.Internal, codes.Unimplemented:
		err = refuse(reasonMalformed, codes.InvalidArgument, "request: %s", said.Message())
	}
	st.server.metrics.countRefusal(err, st.group != nil)
	st.finish(err)
}

// finish closes the stream with a status. Only the first call has an effect.
func (st *stream) finish(err error) {
	if st.finished.Swap(true) {
		return
	}
	st.firstRequestTimer.Stop()
	st.watchdog.stop()
	st.server.metrics.countClose(err)
	st.rpc.Finish(err)
	if st.group != nil {
		st.leave()
	}
}

// join adds the stream to the group of its key. If the key is not published, its publisher can do so now.
func (st *stream) join(key string) {
	st.server.metrics.streams.Inc()
	published := false
	st.server.groups.withGroup(key, func(g *group) {
		st.group = g
		g.streams = append(g.streams, st)
		st.scheduleExpiryCheck()
		published = g.published
	})
	st.server.identities.add(st)
	if !published {
		st.server.opts.Observer.Connected(key)
	}
}

func (st *stream) leave() {
	st.server.identities.remove(st)
	st.group.observerMu.Lock()
	st.group.mu.Lock()
	st.group.streams = slices.DeleteFunc(st.group.streams, func(other *stream) bool { return other == st })
	st.closed = true
	if st.closeErr == nil {
		st.closeErr = errStreamClosed
	}
	st.session.close(&st.group.state)
	for _, t := range []*time.Timer{st.ackTimer, st.expiryTimer} {
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
		st.server.opts.Observer.Disconnected(st.group.key, st.identity)
	}
	st.group.observerMu.Unlock()
	st.server.groups.forgetIfUnused(st.group)
	st.server.clientLimits.release(st.identity, st.rpc.Conn())
	st.server.metrics.streams.Dec()
}

// closeWith schedules closing the stream. It requires the group's lock.
func (st *stream) closeWith(err error) {
	if st.closeErr == nil {
		st.closeErr = err
	}
	st.wakeUp()
}

// scheduleExpiryCheck wakes the stream when its certificate expires. It requires the group's lock.
func (st *stream) scheduleExpiryCheck() {
	if st.certExpiry.IsZero() {
		return
	}
	left := func() time.Duration {
		return min(timerslack.Extend(expiryCheckInterval), max(st.certExpiry.Sub(st.server.clock()), time.Millisecond))
	}
	st.expiryTimer = time.AfterFunc(left(), func() {
		st.group.mu.Lock()
		if !st.closed {
			st.expiryTimer.Reset(left())
		}
		st.group.mu.Unlock()
		st.wakeUp()
	})
}

func (st *stream) handleRequest(req request) error {
	now := time.Now()
	st.group.observerMu.Lock()
	defer st.group.observerMu.Unlock()
	st.group.mu.Lock()
	if st.closed {
		st.group.mu.Unlock()
		return nil
	}
	did, err := st.session.handle(req, &st.group.state, now)
	due := st.session.hasPending()
	st.group.mu.Unlock()
	if err != nil {
		return err
	}
	if due { // most requests are ACKs and leave nothing to send
		st.wakeUp()
	}
	st.notifyObserver(req.typeURL, did, now)
	return nil
}

// notifyObserver reports an ACK or NACK to the metrics and the Observer.
func (st *stream) notifyObserver(typeURL string, did ackResult, now time.Time) {
	m, observer := st.server.metrics, st.server.opts.Observer
	switch {
	case did.acked:
		m.forType(typeURL).acks.Inc()
		m.ackLatency.Observe(now.Sub(did.response.changedAt).Seconds())
		observer.Acked(st.group.key, st.identity, typeURL, did.response.version, did.rejected)
	case did.nacked:
		m.forType(typeURL).nacks.Inc()
		st.server.opts.Logger.Warn("configuration rejected", "key", st.group.key, "client", st.identity,
			"type", typeLabel(typeURL), "resources", did.resources, "message", did.message)
		observer.Nacked(st.group.key, st.identity, typeURL, did.refused, did.message)
	case did.unknownNonce:
		m.forType(typeURL).unknownNonces.Inc()
	}
}
