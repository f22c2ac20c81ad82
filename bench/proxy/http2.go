package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// The load of HTTP/2: connections, and requests at a time on each of them.
const (
	streamConnections = 4
	streamsEach       = 25
)

// streams keeps requests open on one connection. What is sent together is written together.
func streams(ctx context.Context, c net.Conn, count *atomic.Int64) error {
	s := newStreams(c)
	err := s.f.WriteSettings()
	for range streamsEach {
		err = errors.Join(err, s.send())
	}
	for err = errors.Join(err, s.out.Flush()); err == nil && ctx.Err() == nil; {
		var frame http2.Frame
		if frame, err = s.f.ReadFrame(); err != nil {
			break
		}
		var ended bool
		if ended, err = s.handle(frame); ended {
			count.Add(1)
			err = errors.Join(err, s.send())
		}
		if frame.Header().Type != http2.FrameHeaders {
			err = errors.Join(err, s.out.Flush())
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// connection is a client of HTTP/2.
type connection struct {
	out      *bufio.Writer
	f        *http2.Framer
	block    bytes.Buffer
	encoder  *hpack.Encoder
	next     uint32 // stream
	received int    // since the window was opened
}

func newStreams(c net.Conn) *connection {
	s := &connection{out: bufio.NewWriterSize(c, 64<<10), next: 1}
	s.f = http2.NewFramer(s.out, bufio.NewReaderSize(c, 64<<10))
	s.f.SetReuseFrames()
	s.f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	s.encoder = hpack.NewEncoder(&s.block)
	_, _ = io.WriteString(s.out, http2.ClientPreface) // into memory
	return s
}

// send writes a request.
func (s *connection) send() error {
	s.block.Reset()
	for _, one := range []hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "example.com"},
		{Name: ":path", Value: "/a/path"}, {Name: "user-agent", Value: "bench/1.0"}, {Name: "accept", Value: "*/*"},
		{Name: "x-request-id", Value: "0123456789abcdef"},
	} {
		_ = s.encoder.WriteField(one) // into memory
	}
	p := http2.HeadersFrameParam{StreamID: s.next, BlockFragment: s.block.Bytes(), EndStream: true, EndHeaders: true}
	s.next += 2
	return s.f.WriteHeaders(p)
}

// handle handles a frame. It reports whether a response has ended.
func (s *connection) handle(frame http2.Frame) (ended bool, err error) {
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if !frame.IsAck() {
			err = s.f.WriteSettingsAck()
		}
	case *http2.MetaHeadersFrame:
		if status := frame.PseudoValue("status"); status != "200" {
			return false, fmt.Errorf("unexpected status %s", status)
		}
		ended = frame.StreamEnded()
	case *http2.DataFrame:
		if s.received += len(frame.Data()); s.received > 16<<10 {
			err = s.f.WriteWindowUpdate(0, uint32(s.received))
			s.received = 0
		}
		ended = frame.StreamEnded()
	case *http2.RSTStreamFrame, *http2.GoAwayFrame:
		return false, fmt.Errorf("unexpected frame %v", frame)
	}
	return ended, err
}
