package grpcserver

import (
	"encoding/binary"
	"errors"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
		return errors.Join(c.floodGuard.charge(), c.onSettings(f))
	case *http2.PingFrame:
		if f.IsAck() {
			if f.Data == drainPing {
				c.endGoAway()
			}
			return nil
		}
		if err := c.floodGuard.charge(); err != nil {
			return err
		}
		return c.write(append(appendFrame(nil, http2.FramePing, http2.FlagPingAck, 0, len(f.Data)), f.Data[:]...))
	case *http2.PriorityFrame:
		if f.StreamDep == f.StreamID {
			return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeProtocol} // RFC 7540, 5.3.1
		}
	case *http2.RSTStreamFrame:
		if c.isIdleStream(f.StreamID) {
			return http2.ConnectionError(http2.ErrCodeProtocol)
		}
		if s := c.removeStream(f.StreamID, resetByClient); s != nil {
			s.partial.drop()
			s.notifyEnd(status.Error(codes.Canceled, "the client reset the stream"))
		}
	case *http2.PushPromiseFrame:
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return c.floodGuard.charge()
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
	if err := c.floodGuard.charge(); err != nil {
		return err
	}
	if f.StreamID%2 == 0 {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	if !c.isIdleStream(f.StreamID) {
		return c.onLateHeaders(f)
	}
	if dependsOnItself(f) {
		return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeProtocol}
	}
	headers, err := readRequestHeaders(f)
	if err != nil && !f.Truncated {
		return err
	}
	s := &Stream{conn: c, id: f.StreamID, recvWindow: recvWindow{remaining: initialWindowSize},
		bodyLeft: headers.contentLength}
	c.mu.Lock()
	c.lastStreamID = f.StreamID
	late := c.goAwaySent
	full := len(c.streams) >= c.server.maxConcurrentStreams()
	if full || late {
		c.ended.set(f.StreamID, endedByServer)
	} else {
		s.sendWindow = c.initialSendWindow
		c.streams = append(c.streams, s)
	}
	c.mu.Unlock()
	if late {
		return nil // RFC 9113, 6.8: the client knows by the GOAWAY that the stream is not handled
	}
	if full {
		return c.write(appendRSTStream(nil, f.StreamID, http2.ErrCodeRefusedStream))
	}
	return s.startHandler(f, headers)
}

// onLateHeaders handles HEADERS of a stream that is closed, or whose ID is lower than that of a later stream.
func (c *conn) onLateHeaders(f *http2.MetaHeadersFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.ended.of(f.StreamID) {
	case endedByServer: // trailers, sent before the client received the end
		if f.StreamEnded() {
			c.ended.set(f.StreamID, endedByClient)
		}
		return nil
	case endedByClient:
		return http2.ConnectionError(http2.ErrCodeStreamClosed)
	case resetByClient:
		return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeStreamClosed}
	}
	return http2.ConnectionError(http2.ErrCodeProtocol) // RFC 9113, 5.1.1
}

// onData handles a DATA frame.
func (c *conn) onData(frame []byte) error {
	id := binary.BigEndian.Uint32(frame[streamIDOffset:]) & (1<<31 - 1)
	flags, body := http2.Flags(frame[flagsOffset]), frame[frameHeaderLen:]
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
	if by := c.recvWindow.release(size, initialWindowSize/2); by > 0 {
		if err := c.write(appendWindowUpdate(nil, 0, by)); err != nil {
			return err
		}
	}
	last := flags.Has(http2.FlagDataEndStream)
	if len(body) == 0 && !last {
		if err := c.floodGuard.charge(); err != nil {
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
	if by := c.ended.of(id); by == endedByClient || by == resetByClient {
		return http2.StreamError{StreamID: id, Code: http2.ErrCodeStreamClosed}
	}
	if last {
		c.ended.set(id, endedByClient)
	}
	return nil // sent before the client received the end of the stream
}
