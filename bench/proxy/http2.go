package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// The load of HTTP/2: connections, and requests at a time on each of them.
const (
	streamConnections = 4
	streamsEach       = 25
)

// streams sends requests as streams for a while, and returns their number.
func streams(ctx context.Context, port int, d time.Duration) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var count atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, streamConnections)
	for range streamConnections {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return 0, err
		}
		all.Go(func() {
			defer func() { _ = c.Close() }() // it has ended
			if err := stream(ctx, c, &count); err != nil {
				failed <- err
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return 0, err
	default:
		return count.Load(), nil
	}
}

// stream keeps requests open on one connection. What is sent together is written together.
func stream(ctx context.Context, c net.Conn, count *atomic.Int64) error {
	out := bufio.NewWriterSize(c, 64<<10)
	f := http2.NewFramer(out, bufio.NewReaderSize(c, 64<<10))
	f.SetReuseFrames()
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.WriteString(out, http2.ClientPreface); err != nil {
		return err
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	next := uint32(1)
	send := func() error {
		block.Reset()
		for _, one := range []hpack.HeaderField{
			{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "example.com"},
			{Name: ":path", Value: "/a/path"}, {Name: "user-agent", Value: "bench/1.0"}, {Name: "accept", Value: "*/*"},
			{Name: "x-request-id", Value: "0123456789abcdef"},
		} {
			_ = encoder.WriteField(one) // into memory
		}
		p := http2.HeadersFrameParam{StreamID: next, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}
		next += 2
		return f.WriteHeaders(p)
	}
	err := f.WriteSettings()
	for range streamsEach {
		if err == nil {
			err = send()
		}
	}
	if err == nil {
		err = out.Flush()
	}
	received := 0
	for err == nil && ctx.Err() == nil {
		var frame http2.Frame
		if frame, err = f.ReadFrame(); err != nil {
			break
		}
		ended := false
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				err = f.WriteSettingsAck()
			}
		case *http2.MetaHeadersFrame:
			if status := frame.PseudoValue("status"); status != "200" {
				return fmt.Errorf("unexpected status %s", status)
			}
			ended = frame.StreamEnded()
		case *http2.DataFrame:
			if received += len(frame.Data()); received > 16<<10 && err == nil {
				err = f.WriteWindowUpdate(0, uint32(received))
				received = 0
			}
			ended = frame.StreamEnded()
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return fmt.Errorf("unexpected frame %v", frame)
		}
		if ended {
			count.Add(1)
			if err == nil {
				err = send()
			}
		}
		if err == nil && frame.Header().Type != http2.FrameHeaders {
			err = out.Flush()
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}
