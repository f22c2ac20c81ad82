package xds

import (
	"errors"
	"io"
	"time"
)

// What a stream's writer is doing. It runs only while there is something to write, so that an idle client has one goroutine of ours.
const (
	asleep  int32 = iota
	awake         // it runs
	again         // it runs, and has to look again before it sleeps: wake-ups merge
	closing       // it runs no more, or soon will not
)

// wakeUp has the stream look for something to send.
func (st *stream) wakeUp() {
	for {
		switch st.writer.Load() {
		case asleep:
			if st.writer.CompareAndSwap(asleep, awake) {
				go st.write()
				return
			}
		case awake:
			if st.writer.CompareAndSwap(awake, again) {
				return
			}
		default:
			return
		}
	}
}

// write sends what there is to send.
func (st *stream) write() {
	for {
		st.drain()
		if st.writer.CompareAndSwap(awake, asleep) {
			return
		}
		if !st.writer.CompareAndSwap(again, awake) {
			close(st.written)
			return
		}
	}
}

// close ends the stream for the client, waits for the writer, and returns what the client is told.
func (st *stream) close(err error) error {
	st.group.mu.Lock()
	if st.over == nil {
		st.over = err
	}
	err = st.over
	st.group.mu.Unlock()
	if errors.Is(err, io.EOF) {
		err = nil // the client is done
	}
	st.conn.finish(err) // the writer may be waiting for room
	st.written = make(chan struct{})
	if was := st.writer.Swap(closing); was == awake || was == again {
		<-st.written
	}
	return err
}

// drain sends until there is nothing to send, or the stream is over.
func (st *stream) drain() {
	for !st.finished {
		out, wait, err := st.next()
		if err == nil && out != nil {
			err = st.send(out)
		}
		switch {
		case err != nil:
			st.server.metrics.end(err)
			st.conn.finish(err)
			st.finished = true
		case out != nil:
		case wait > 0 && st.patience == nil:
			st.patience = time.AfterFunc(wait, st.wakeUp)
			return
		case wait > 0:
			st.patience.Reset(wait)
			return
		default:
			return
		}
	}
}

// next is what to send now, or how long to wait at most; 0 is until woken.
func (st *stream) next() (*response, time.Duration, error) {
	now := st.server.clock()
	st.group.mu.Lock()
	defer st.group.mu.Unlock()
	if !st.expires.IsZero() && !now.Before(st.expires) {
		st.end(errExpired)
	}
	if st.over != nil || !st.group.published {
		return nil, 0, st.over
	}
	out, wait := st.session.next(now)
	return out, wait, nil
}

// lookAtTheClock wakes the stream when its certificate expires.
func (st *stream) lookAtTheClock() {
	if st.expires.IsZero() {
		return
	}
	left := func() time.Duration { return min(glance, max(st.expires.Sub(st.server.clock()), time.Millisecond)) }
	started := make(chan struct{})
	st.expiry = time.AfterFunc(left(), func() {
		<-started
		st.wakeUp()
		st.expiry.Reset(left())
	})
	close(started)
}

// send blocks while the client's flow-control window is full, but not for ever. An error ends the stream.
func (st *stream) send(out *response) error {
	if st.sending == nil {
		st.sending = time.AfterFunc(st.server.opts.SendTimeout, func() {
			st.slow.Store(true)
			st.conn.cut()
		})
	} else {
		st.sending.Reset(st.server.opts.SendTimeout)
	}
	f, size := out.encode()
	err := st.conn.SendMsg(f)
	st.sending.Stop()
	if err == nil {
		st.server.metrics.sent(out, size)
		return nil
	}
	if st.slow.Load() {
		st.server.opts.Logger.Warn("slow client cut off", "key", st.group.key, "client", st.identity)
		err = errSlow
	}
	st.group.mu.Lock()
	defer st.group.mu.Unlock()
	if st.over == nil {
		st.over = err
	}
	return err
}
