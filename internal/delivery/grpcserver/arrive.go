package grpcserver

import (
	"encoding/binary"
	"errors"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// control takes in a frame that is not of data.
func (c *conn) control(frame []byte) error {
	c.frame.Reset(frame)
	read, err := c.framer.ReadFrame()
	if err != nil {
		return err
	}
	switch f := read.(type) {
	case *http2.MetaHeadersFrame:
		return c.headers(f)
	case *http2.WindowUpdateFrame:
		return c.widen(f)
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		return errors.Join(c.calm.spend(), c.settle(f))
	case *http2.PingFrame:
		if f.IsAck() {
			return nil
		}
		if err := c.calm.spend(); err != nil {
			return err
		}
		return c.write(append(appendFrame(nil, http2.FramePing, http2.FlagPingAck, 0, len(f.Data)), f.Data[:]...))
	case *http2.RSTStreamFrame:
		if c.unknown(f.StreamID) {
			return http2.ConnectionError(http2.ErrCodeProtocol)
		}
		if s := c.remove(f.StreamID); s != nil {
			s.end(status.Error(codes.Canceled, "the client reset the stream"))
		}
	case *http2.PushPromiseFrame:
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return c.calm.spend()
}

// headers open a stream, or are trailers, which end it.
func (c *conn) headers(f *http2.MetaHeadersFrame) error {
	if s := c.find(f.StreamID); s != nil {
		switch {
		case s.saidAll():
			return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeStreamClosed}
		case !f.StreamEnded():
			return http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeProtocol}
		}
		return s.half()
	}
	if err := c.calm.spend(); err != nil {
		return err
	}
	if f.StreamID%2 == 0 {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	if !c.unknown(f.StreamID) {
		return nil // trailers of one that we have ended
	}
	s := &Stream{conn: c, id: f.StreamID, arrived: inflow{room: firstWindow}}
	c.mu.Lock()
	c.last = f.StreamID
	full := len(c.streams) >= c.server.mostStreams()
	if !full {
		s.credit = c.initial
		c.streams = append(c.streams, s)
	}
	c.mu.Unlock()
	if full {
		return c.write(appendReset(nil, f.StreamID, http2.ErrCodeRefusedStream))
	}
	return s.open(f)
}

// data takes in a frame of data.
func (c *conn) data(frame []byte) error {
	id := binary.BigEndian.Uint32(frame[streamAt:]) & (1<<31 - 1)
	flags, body := http2.Flags(frame[flagsAt]), frame[frameHeader:]
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
	if id == 0 || c.unknown(id) {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	if by := c.arrived.give(size); by > 0 { // what is not taken in yet is bounded by the windows of streams
		if err := c.write(appendWindowUpdate(nil, 0, by)); err != nil {
			return err
		}
	}
	last := flags.Has(http2.FlagDataEndStream)
	if len(body) == 0 && !last {
		if err := c.calm.spend(); err != nil {
			return err
		}
	}
	s := c.find(id)
	if s == nil {
		return nil // it was on its way when we ended the stream
	}
	if err := s.arrive(size, body); err != nil {
		return err
	}
	if last {
		return s.half()
	}
	return nil
}
