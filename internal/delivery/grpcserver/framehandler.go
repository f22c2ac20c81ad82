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
			return nil
		}
		if err := c.floodGuard.charge(); err != nil {
			return err
		}
		return c.write(append(appendFrame(nil, http2.FramePing, http2.FlagPingAck, 0, len(f.Data)), f.Data[:]...))
	case *http2.RSTStreamFrame:
		if c.isIdleStream(f.StreamID) {
			return http2.ConnectionError(http2.ErrCodeProtocol)
		}
		if s := c.removeStream(f.StreamID); s != nil {
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
		case !f.StreamEnded():
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
		return nil // trailers of a stream that the server has ended
	}
	s := &Stream{conn: c, id: f.StreamID, recvWindow: recvWindow{remaining: initialWindowSize}}
	c.mu.Lock()
	c.lastStreamID = f.StreamID
	full := len(c.streams) >= c.server.maxConcurrentStreams()
	if !full {
		s.sendWindow = c.initialSendWindow
		c.streams = append(c.streams, s)
	}
	c.mu.Unlock()
	if full {
		return c.write(appendRSTStream(nil, f.StreamID, http2.ErrCodeRefusedStream))
	}
	return s.startHandler(f)
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
	if by := c.recvWindow.release(size); by > 0 { // unprocessed data is limited by the windows of the streams
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
		return nil // sent before the client received the end of the stream
	}
	if err := s.onData(size, body); err != nil {
		return err
	}
	if last {
		return s.onEndStream()
	}
	return nil
}
