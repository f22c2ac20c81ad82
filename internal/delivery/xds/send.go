package xds

import (
	"time"

	"anymesh.dev/anymesh/internal/delivery/socket"
)

// wakeUp schedules the write task of the stream.
func (st *stream) wakeUp() { st.server.workers.Wake(&st.writeTask) }

// wakeAll schedules the write tasks of streams.
func (s *Server) wakeAll(streams []*stream) {
	s.workers.WakeAll(func(yield func(*socket.Task) bool) {
		for _, st := range streams {
			if !yield(&st.writeTask) {
				return
			}
		}
	})
}

// sendPending sends responses until none is pending or the stream is closed.
func (st *stream) sendPending() {
	for {
		out, more, err := st.nextResponse()
		if err == nil && out != nil {
			err = st.send(out)
			out.release()
		}
		if err != nil {
			st.finish(err)
			return
		}
		if !more {
			return
		}
	}
}

// nextResponse returns the response to send now, or nil, and whether there may be another one.
func (st *stream) nextResponse() (out *response, more bool, err error) {
	now := st.server.clock()
	st.group.mu.Lock()
	defer st.group.mu.Unlock()
	if st.closeErr == nil && !st.certExpiry.IsZero() && !now.Before(st.certExpiry) {
		st.closeErr = errExpired
	}
	if st.closeErr != nil || !st.group.published {
		return nil, false, st.closeErr
	}
	out, wait := st.session.nextResponse(now)
	switch {
	case out != nil:
		more = st.session.hasPending()
	case wait == 0:
	case st.ackTimer == nil:
		st.ackTimer = time.AfterFunc(wait, st.wakeUp)
	default:
		st.ackTimer.Reset(wait)
	}
	return out, more, nil
}

// send sends a response. It blocks while the flow-control window of the client is full, up to SendTimeout. An error
// closes the stream.
func (st *stream) send(out *response) error {
	parts, size := out.encode()
	st.watchdog.start()
	err := st.rpc.Send(parts...)
	st.watchdog.done()
	if err == nil {
		st.server.metrics.sent(out, size)
	}
	return err
}

// sendTimedOut interrupts the send of a client that does not read.
func (st *stream) sendTimedOut() {
	st.server.metrics.countClose(errSendTimeout)
	st.server.opts.Logger.Warn("client disconnected: send timeout", "key", st.group.key, "client", st.identity)
	_ = st.rpc.Conn().Close() // the stream has failed in any case
}
