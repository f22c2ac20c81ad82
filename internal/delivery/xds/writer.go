package xds

import "time"

// wakeUp has the stream look for something to send.
func (st *stream) wakeUp() { st.server.workers.Wake(&st.writeTask) }

// drain sends until there is nothing to send, or the stream is over.
func (st *stream) drain() {
	for {
		out, more, err := st.next()
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

// next is what to send now, if there is anything, and whether to ask for more.
func (st *stream) next() (out *response, more bool, err error) {
	now := st.server.clock()
	st.group.mu.Lock()
	defer st.group.mu.Unlock()
	if st.over == nil && !st.expires.IsZero() && !now.Before(st.expires) {
		st.over = errExpired
	}
	if st.over != nil || !st.group.published {
		return nil, false, st.over
	}
	out, wait := st.session.next(now)
	switch {
	case out != nil:
		more = st.session.due()
	case wait == 0:
	case st.waiting == nil:
		st.waiting = time.AfterFunc(wait, st.wakeUp)
	default:
		st.waiting.Reset(wait)
	}
	return out, more, nil
}

// send blocks while the client's flow-control window is full, but not for ever. An error ends the stream.
func (st *stream) send(out *response) error {
	parts, size := out.encode()
	st.patience.begin()
	err := st.wire.Send(parts...)
	late := st.patience.end()
	if err == nil {
		st.server.metrics.sent(out, size)
		return nil
	}
	if late {
		st.server.metrics.end(errSlow)
		st.server.opts.Logger.Warn("slow client cut off", "key", st.group.key, "client", st.identity)
	}
	return err
}
