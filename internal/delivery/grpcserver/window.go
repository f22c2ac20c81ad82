package grpcserver

import (
	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/h2frame"
)

// onWindowUpdate handles WINDOW_UPDATE.
func (c *conn) onWindowUpdate(f *http2.WindowUpdateFrame) error {
	if f.Increment < h2frame.MinWindowUpdate {
		if err := c.floodGuard.Charge(); err != nil {
			return err
		}
	}
	if f.StreamID == 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.sendWindow += int(f.Increment); c.sendWindow > h2frame.LargestWindow {
			return http2.ConnectionError(http2.ErrCodeFlowControl)
		}
		c.sendCond.Broadcast()
		return nil
	}
	if c.isIdleStream(f.StreamID) {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	s := c.findStream(f.StreamID)
	if s == nil {
		return nil // the server has ended it
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.sendWindow += int(f.Increment); s.sendWindow > h2frame.LargestWindow {
		return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeFlowControl}
	}
	c.sendCond.Broadcast()
	return nil
}

// onSettings applies the client's SETTINGS and acknowledges them (RFC 9113, 6.5.3).
func (c *conn) onSettings(f *http2.SettingsFrame) error {
	c.mu.Lock()
	err := f.ForeachSetting(func(s http2.Setting) error {
		if err := s.Valid(); err != nil {
			return err
		}
		if s.ID != http2.SettingInitialWindowSize {
			// SETTINGS_MAX_FRAME_SIZE is never below the size of sent frames, and sent headers use no dynamic table.
			return nil
		}
		by := int(s.Val) - c.initialSendWindow
		c.initialSendWindow = int(s.Val)
		for _, one := range c.streams {
			if one.sendWindow += by; one.sendWindow > h2frame.LargestWindow {
				return http2.ConnectionError(http2.ErrCodeFlowControl)
			}
		}
		return nil
	})
	c.mu.Unlock()
	c.sendCond.Broadcast()
	if err != nil {
		return err
	}
	return c.write(h2frame.AppendHeader(nil, http2.FrameSettings, http2.FlagSettingsAck, 0, 0))
}

// reserveWindow reserves up to n bytes of the stream's and the connection's send window. It returns 0 if one of them
// is empty.
func (s *Stream) reserveWindow(n int) (int, error) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := s.sendErr(); err != nil {
		return 0, err
	}
	n = max(0, min(n, s.sendWindow, c.sendWindow))
	s.sendWindow -= n
	c.sendWindow -= n
	return n, nil
}

// awaitWindow blocks until the send windows are not empty, or the stream ends.
func (s *Stream) awaitWindow() error {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if err := s.sendErr(); err != nil {
			return err
		}
		if s.sendWindow > 0 && c.sendWindow > 0 {
			return nil
		}
		c.sendCond.Wait()
	}
}

// sendErr returns the reason why the stream cannot send any more, or nil. It requires the connection's lock.
func (s *Stream) sendErr() error {
	if s.conn.closeErr != nil {
		return s.conn.closeErr
	}
	if s.closed {
		return errClosed
	}
	return nil
}
