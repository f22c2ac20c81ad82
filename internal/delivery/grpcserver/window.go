package grpcserver

import "golang.org/x/net/http2"

// inflow is the window of what a client may send, in bytes.
type inflow struct {
	room  int // left of it
	spent int // that was taken in, and that the client has not been told of
}

// take counts what arrived.
func (w *inflow) take(n int) error {
	if w.room -= n; w.room < 0 {
		return http2.ConnectionError(http2.ErrCodeFlowControl)
	}
	return nil
}

// give makes room again, and returns by how much to tell the client, which is 0 until it is worth a frame.
func (w *inflow) give(n int) (by int) {
	if w.spent += n; w.spent < firstWindow/2 {
		return 0
	}
	by = w.spent
	w.room += by
	w.spent = 0
	return by
}

// dribble is what a client would have to take so often that each time costs more than it brings, in bytes (CVE-2019-9511).
const dribble = 1 << 10

// widen takes in that the client takes more.
func (c *conn) widen(f *http2.WindowUpdateFrame) error {
	if f.Increment < dribble {
		if err := c.calm.spend(); err != nil {
			return err
		}
	}
	if f.StreamID == 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.credit += int(f.Increment); c.credit > largestWindow {
			return http2.ConnectionError(http2.ErrCodeFlowControl)
		}
		c.room.Broadcast()
		return nil
	}
	if c.unknown(f.StreamID) {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	s := c.find(f.StreamID)
	if s == nil {
		return nil // we have ended it
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.credit += int(f.Increment); s.credit > largestWindow {
		return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeFlowControl}
	}
	c.room.Broadcast()
	return nil
}

// settle takes in the client's settings, and says so (RFC 9113, 6.5.3).
func (c *conn) settle(f *http2.SettingsFrame) error {
	c.mu.Lock()
	err := f.ForeachSetting(func(s http2.Setting) error {
		if err := s.Valid(); err != nil {
			return err
		}
		if s.ID != http2.SettingInitialWindowSize {
			return nil // our frames are no longer than everyone takes, and our headers refer to no table
		}
		by := int(s.Val) - c.initial
		c.initial = int(s.Val)
		for _, one := range c.streams {
			if one.credit += by; one.credit > largestWindow {
				return http2.ConnectionError(http2.ErrCodeFlowControl)
			}
		}
		return nil
	})
	c.mu.Unlock()
	c.room.Broadcast()
	if err != nil {
		return err
	}
	return c.write(appendFrame(nil, http2.FrameSettings, http2.FlagSettingsAck, 0, 0))
}

// reserve takes up to n bytes of the client's windows; 0 is that there is no room now.
func (s *Stream) reserve(n int) (int, error) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := s.over(); err != nil {
		return 0, err
	}
	n = max(0, min(n, s.credit, c.credit))
	s.credit -= n
	c.credit -= n
	return n, nil
}

// await blocks until there is room in the client's windows, or the stream is over.
func (s *Stream) await() error {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if err := s.over(); err != nil {
			return err
		}
		if s.credit > 0 && c.credit > 0 {
			return nil
		}
		c.room.Wait()
	}
}

// over is why nothing can be sent any more. It needs the connection's lock.
func (s *Stream) over() error {
	if s.conn.lost != nil {
		return s.conn.lost
	}
	if s.closed {
		return errClosed
	}
	return nil
}
