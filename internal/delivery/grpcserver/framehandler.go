package grpcserver

import (
	"encoding/binary"
	"errors"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/h2frame"
)

// onControlFrame handles a frame other than DATA.
func (c *conn) onControlFrame(frame []byte) error {
	c.frame.Reset(frame)
	read, err := c.framer.ReadFrame()
	if err != nil {
		return err
	}
	switch f := read.(type) {
	case *http2.MetaHeadersFrame:
		return c.onHeaders(f)
	case *http2.WindowUpdateFrame:
		return c.onWindowUpdate(f)
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		return errors.Join(c.floodGuard.Charge(), c.onSettings(f))
	case *http2.PingFrame:
		if f.IsAck() {
			if f.Data == drainPing {
				c.endGoAway()
			}
			return nil
		}
		if err := c.floodGuard.Charge(); err != nil {
			return err
		}
		return c.write(h2frame.AppendPing(nil, http2.FlagPingAck, f.Data))
	case *http2.PriorityFrame:
		if f.StreamDep == f.StreamID {
			return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeProtocol} // RFC 7540, 5.3.1
		}
	case *http2.RSTStreamFrame:
		if c.isIdleStream(f.StreamID) {
			return http2.ConnectionError(http2.ErrCodeProtocol)
		}
		if s := c.removeStream(f.StreamID, h2frame.ResetByPeer); s != nil {
			s.partial.drop()
			s.notifyEnd(status.Error(codes.Canceled, "the client reset the stream"))
		}
	case *http2.PushPromiseFrame:
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return c.floodGuard.Charge()
}

// onHeaders handles HEADERS: a new stream, or the trailers that end one.
func (c *conn) onHeaders(f *http2.MetaHeadersFrame) error {
	if s := c.findStream(f.StreamID); s != nil {
		switch {
		case s.isRemoteClosed():
			return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeStreamClosed}
		case !f.StreamEnded() || len(f.PseudoFields()) > 0:
			return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeProtocol}
		}
		return s.onEndStream()
	}
	if err := c.floodGuard.Charge(); err != nil {
		return err
	}
	if f.StreamID%2 == 0 {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	if !c.isIdleStream(f.StreamID) {
		return c.onLateHeaders(f)
	}
	if h2frame.DependsOnItself(f) {
		return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeProtocol}
	}
	headers, err := h2frame.ReadRequest(f)
	if err != nil && !f.Truncated {
		return err
	}
	s := &Stream{conn: c, id: f.StreamID, recvWindow: h2frame.RecvWindow{Remaining: h2frame.InitialWindow},
		bodyLeft: headers.ContentLength}
	c.mu.Lock()
	c.lastStreamID = f.StreamID
	late := c.goAwaySent
	full := len(c.streams) >= c.server.maxConcurrentStreams()
	if full || late {
		c.ended.Set(f.StreamID, h2frame.EndedHere)
	} else {
		s.sendWindow = c.initialSendWindow
		c.streams = append(c.streams, s)
	}
	c.mu.Unlock()
	if late {
		return nil // RFC 9113, 6.8: the client knows by the GOAWAY that the stream is not handled
	}
	if full {
		return c.write(h2frame.AppendRSTStream(nil, f.StreamID, http2.ErrCodeRefusedStream))
	}
	return s.startHandler(f, headers)
}

// onLateHeaders handles HEADERS of a stream that is closed, or whose ID is lower than that of a later stream.
func (c *conn) onLateHeaders(f *http2.MetaHeadersFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.ended.Of(f.StreamID) {
	case h2frame.EndedHere: // trailers, sent before the client received the end
		if f.StreamEnded() {
			c.ended.Set(f.StreamID, h2frame.EndedByPeer)
		}
		return nil
	case h2frame.EndedByPeer:
		return http2.ConnectionError(http2.ErrCodeStreamClosed)
	case h2frame.ResetByPeer:
		return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeStreamClosed}
	}
	return http2.ConnectionError(http2.ErrCodeProtocol) // RFC 9113, 5.1.1
}

// onData handles a DATA frame.
func (c *conn) onData(frame []byte) error {
	id := binary.BigEndian.Uint32(frame[h2frame.StreamIDOffset:]) & (1<<31 - 1)
	flags, body := http2.Flags(frame[h2frame.FlagsOffset]), frame[h2frame.HeaderLen:]
	size := len(body)
	if flags.Has(http2.FlagDataPadded) {
		if size == 0 {
			return http2.ConnectionError(http2.ErrCodeFrameSize)
		}
		if int(body[0]) >= size {
			return http2.ConnectionError(http2.ErrCodeProtocol)
		}
		body = body[1 : size-int(body[0])]
	}
	if id == 0 || c.isIdleStream(id) {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	// Unprocessed data is limited by the windows of the streams.
	if by := c.recvWindow.Release(size, h2frame.InitialWindow/2); by > 0 {
		if err := c.write(h2frame.AppendWindowUpdate(nil, 0, by)); err != nil {
			return err
		}
	}
	last := flags.Has(http2.FlagDataEndStream)
	if len(body) == 0 && !last {
		if err := c.floodGuard.Charge(); err != nil {
			return err
		}
	}
	s := c.findStream(id)
	if s == nil {
		return c.onLateData(id, last)
	}
	if err := s.onData(size, body); err != nil {
		return err
	}
	if last {
		return s.onEndStream()
	}
	return nil
}

// onLateData handles DATA of a stream that is closed.
func (c *conn) onLateData(id uint32, last bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if by := c.ended.Of(id); by == h2frame.EndedByPeer || by == h2frame.ResetByPeer {
		return http2.StreamError{StreamID: id, Code: http2.ErrCodeStreamClosed}
	}
	if last {
		c.ended.Set(id, h2frame.EndedByPeer)
	}
	return nil // sent before the client received the end of the stream
}
