package h2

import (
	"errors"

	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/h2frame"
)

// readFrames handles frames until an error of the connection.
func (c *conn) readFrames() error {
	for first := true; ; first = false {
		if c.in.Buffered() == 0 {
			c.flushAside()
		}
		if _, err := c.in.Peek(1); err != nil {
			return err
		}
		c.started()
		f, err := c.framer.ReadFrame()
		c.frame.Store(false)
		if s, is := f.(*http2.SettingsFrame); first && (err == nil && (!is || s.IsAck()) || isStreamError(err)) {
			return http2.ConnectionError(http2.ErrCodeProtocol) // RFC 9113, 3.4
		}
		if err == nil {
			err = c.handle(f)
		}
		var bad http2.StreamError
		switch {
		case err == nil:
		case errors.As(err, &bad):
			if err := c.refuse(bad); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func isStreamError(err error) bool {
	var bad http2.StreamError
	return errors.As(err, &bad)
}

// refuse ends a stream after a stream error (RFC 9113, 5.4.2).
func (c *conn) refuse(bad http2.StreamError) error {
	if err := c.flood.Charge(); err != nil {
		return err
	}
	c.mu.Lock()
	if !c.client && bad.StreamID%2 == 1 {
		c.last = max(c.last, bad.StreamID) // more frames of the refused stream may follow
	}
	c.ended.Set(bad.StreamID, h2frame.EndedHere)
	if s := c.streams[bad.StreamID]; s != nil {
		c.remove(s, h2frame.EndedHere)
		s.fail(bad)
	}
	c.mu.Unlock()
	return c.control(func(b []byte) []byte { return h2frame.AppendRSTStream(b, bad.StreamID, bad.Code) })
}

// remove forgets a stream. It requires the lock.
func (c *conn) remove(s *Stream, by h2frame.End) {
	if c.streams[s.id] != s {
		return
	}
	delete(c.streams, s.id)
	if s.remoteEnd {
		by = h2frame.EndedByPeer
	}
	c.ended.Set(s.id, by)
}

// idle reports whether the peer has not opened a stream, or this side has not. It requires the lock.
func (c *conn) idle(id uint32) bool { return id > c.last || id%2 == 0 }

func (c *conn) handle(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		if c.client {
			return c.onResponse(f)
		}
		return c.onRequest(f)
	case *http2.DataFrame:
		return c.onData(f)
	case *http2.WindowUpdateFrame:
		return c.onWindowUpdate(f)
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		if err := c.flood.Charge(); err != nil {
			return err
		}
		if err := c.onSettings(f); err != nil {
			return err
		}
		return c.control(h2frame.AppendSettingsAck)
	case *http2.PingFrame:
		if f.IsAck() {
			return nil
		}
		if err := c.flood.Charge(); err != nil {
			return err
		}
		return c.control(func(b []byte) []byte { return h2frame.AppendPing(b, http2.FlagPingAck, f.Data) })
	case *http2.PriorityFrame:
		if f.StreamDep == f.StreamID {
			return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeProtocol} // RFC 7540, 5.3.1
		}
	case *http2.RSTStreamFrame:
		if err := c.onReset(f); err != nil {
			return err
		}
	case *http2.GoAwayFrame:
		c.onGoAway(f)
	case *http2.PushPromiseFrame:
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return c.flood.Charge()
}

// earlyReset is how many frames a reset before the response costs in addition: the endpoint has worked for nothing.
const earlyReset = 3

func (c *conn) onReset(f *http2.RSTStreamFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle(f.StreamID) {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	if s := c.streams[f.StreamID]; s != nil {
		complete := s.remoteEnd
		if !s.headSent && !c.client {
			for range earlyReset {
				if err := c.flood.Charge(); err != nil {
					return err
				}
			}
		}
		c.remove(s, h2frame.ResetByPeer)
		switch {
		case f.ErrCode == http2.ErrCodeRefusedStream && c.client:
			s.fail(ErrNotProcessed)
		case f.ErrCode == http2.ErrCodeNo && c.client && complete:
			s.unwanted = true // the endpoint does not need the rest of the request
			s.changed.Broadcast()
		default:
			s.fail(errReset)
		}
	}
	return nil
}

func (c *conn) onGoAway(f *http2.GoAwayFrame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.client {
		return
	}
	c.leaving = true
	for id, s := range c.streams {
		if id > f.LastStreamID {
			delete(c.streams, id)
			s.fail(ErrNotProcessed)
		}
	}
}

// onWindowUpdate opens a window of what may be sent.
func (c *conn) onWindowUpdate(f *http2.WindowUpdateFrame) error {
	if f.Increment < h2frame.MinWindowUpdate {
		if err := c.flood.Charge(); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.StreamID == 0 {
		if c.send += int(f.Increment); c.send > h2frame.LargestWindow {
			return http2.ConnectionError(http2.ErrCodeFlowControl)
		}
		for _, s := range c.streams {
			s.changed.Broadcast()
		}
		return nil
	}
	if c.idle(f.StreamID) {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	s := c.streams[f.StreamID]
	if s == nil {
		return nil // it has ended
	}
	if s.send += int(f.Increment); s.send > h2frame.LargestWindow {
		return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeFlowControl}
	}
	s.changed.Broadcast()
	return nil
}

// onSettings applies the settings of the peer.
func (c *conn) onSettings(f *http2.SettingsFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.settings {
		c.settings = true
		c.most = 1 << 30 // without the setting there is no limit
	}
	c.changed.Broadcast()
	return f.ForeachSetting(func(s http2.Setting) error {
		if err := s.Valid(); err != nil {
			return err
		}
		switch s.ID {
		case http2.SettingHeaderTableSize:
			c.encoder.SetMaxDynamicTableSize(min(s.Val, 4<<10))
		case http2.SettingMaxConcurrentStreams:
			c.most = int(min(s.Val, 1<<30))
		case http2.SettingEnableConnectProtocol:
			c.connects = s.Val == 1
		case http2.SettingInitialWindowSize:
			by := int(s.Val) - c.initial
			c.initial = int(s.Val)
			for _, one := range c.streams {
				if one.send += by; one.send > h2frame.LargestWindow {
					return http2.ConnectionError(http2.ErrCodeFlowControl)
				}
				one.changed.Broadcast()
			}
		}
		return nil
	})
}

// onData handles DATA.
func (c *conn) onData(f *http2.DataFrame) error {
	size := int(f.Length)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle(f.StreamID) {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	if err := c.window.Receive(size); err != nil {
		return err
	}
	if len(f.Data()) == 0 && !f.StreamEnded() {
		if err := c.flood.Charge(); err != nil {
			return err
		}
	}
	s := c.streams[f.StreamID]
	if s == nil || s.remoteEnd {
		c.release(size)
		if s != nil {
			return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeStreamClosed}
		}
		return c.onLateData(f)
	}
	if c.client {
		c.release(size)
		if !s.answered {
			return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeProtocol}
		}
	}
	return s.onData(f, size)
}

// onLateData handles DATA of a stream that has ended. It requires the lock.
func (c *conn) onLateData(f *http2.DataFrame) error {
	if by := c.ended.Of(f.StreamID); by == h2frame.EndedByPeer || by == h2frame.ResetByPeer {
		return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeStreamClosed}
	}
	if f.StreamEnded() {
		c.ended.Set(f.StreamID, h2frame.EndedByPeer)
	}
	return nil // sent before the peer received the end of the stream
}

// release opens the window of the connection. It requires the lock.
func (c *conn) release(n int) {
	least := serverWindow / 4
	if by := c.window.Release(n, least); by > 0 {
		c.out = h2frame.AppendWindowUpdate(c.out, 0, by)
	}
}

// flushAside writes what waits, in another goroutine: that which reads must go on, because a peer may read only when
// what it writes is read.
func (c *conn) flushAside() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.out) > 0 && !c.writing {
		go c.flushAlone()
	}
}
