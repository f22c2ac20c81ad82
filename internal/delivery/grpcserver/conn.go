package grpcserver

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/delivery/socket"
	"anymesh.dev/anymesh/internal/h2frame"
)

// conn is an HTTP/2 connection of a client.
type conn struct {
	net.Conn // the TLS connection, or raw without TLS
	raw      net.Conn
	tls      *tls.Conn
	server   *server

	readTask socket.Task // runs readAvailable

	client     *client
	clientKey  string
	unfinished int // bytes of unfinished messages; guarded by the lock of clients

	// Only used by readTask.
	input      frameInput
	frame      bytes.Reader
	framer     *http2.Framer // reads from frame
	recvWindow h2frame.RecvWindow
	floodGuard h2frame.FloodGuard
	closed     bool
	orders     atomic.Uint32 // from other goroutines, see askReader

	received  atomic.Bool // a frame was received since the last keepalive check
	wroteData atomic.Bool // message bytes were written since the last keepalive check
	keepalive keepalive

	writing sync.Mutex // guards writes to the socket; never acquired while mu is held

	mu                sync.Mutex
	sendCond          sync.Cond // signals growth of the send windows of the connection and its streams
	streams           []*Stream // open streams
	ended             h2frame.EndedStreams
	lastStreamID      uint32        // highest stream ID that the client has opened
	sendWindow        int           // bytes that the connection may send
	initialSendWindow int           // send window of a new stream (SETTINGS_INITIAL_WINDOW_SIZE)
	closeErr          error         // set when the connection is closed
	reading, watched  bool          // serve has begun; the worker pool reads
	draining          error         // why the connection is drained; nil if it is not
	goAwaySent        bool          // the last GOAWAY is sent: later streams are ignored
	timers            []*time.Timer // of drain
}

// errConnectionLost ends the streams of a closed connection.
var errConnectionLost = status.Error(codes.Unavailable, "the connection is lost")

func newConn(s *server, raw net.Conn) *conn {
	c := &conn{
		Conn: raw, raw: raw, server: s, sendWindow: h2frame.InitialWindow, initialSendWindow: h2frame.InitialWindow,
	}
	c.floodGuard.Limit(s.MaxFramesPerSecond, s.MaxFrameBurst)
	c.sendCond.L = &c.mu
	return c
}

// exchangePreface exchanges the connection prefaces (RFC 9113, 3.4).
func (c *conn) exchangePreface() error {
	hello := h2frame.AppendSettings(nil,
		http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(c.server.maxConcurrentStreams())},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindowSize},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: MaxHeaderListSize})
	if err := c.write(hello); err != nil {
		return err
	}
	theirs := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c.Conn, theirs); err != nil {
		return err
	}
	if !bytes.Equal(theirs, []byte(http2.ClientPreface)) {
		return errors.New("the client does not speak HTTP/2")
	}
	c.framer = http2.NewFramer(nil, &c.frame)
	c.framer.SetMaxReadFrameSize(h2frame.FrameSize)
	c.framer.SetReuseFrames()
	c.framer.MaxHeaderListSize = MaxHeaderListSize
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4<<10, nil) // default table size of HTTP/2, in bytes
	return nil
}

func (s *server) maxConcurrentStreams() int {
	if s.MaxConcurrentStreams == 0 {
		return h2frame.LargestWindow
	}
	return s.MaxConcurrentStreams
}

// write writes whole control frames.
func (c *conn) write(frames []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.Conn.Write(frames)
	return err
}

// serve reads until the connection ends: by the worker pool, or in this goroutine if the pool cannot watch the
// connection.
func (c *conn) serve() {
	c.keepalive.start(c)
	c.readTask.Run = c.readAvailable
	watched := c.server.Workers.Watch(c.raw, &c.readTask)
	c.mu.Lock()
	c.watched, c.reading = watched, true
	c.mu.Unlock()
	if watched {
		c.server.Workers.Wake(&c.readTask) // frames may have arrived with the preface
		return
	}
	for !c.closed {
		c.readAvailable()
	}
}

// readAvailable reads and handles the input that is available.
func (c *conn) readAvailable() {
	buffer := bufferPool.Get().(*[h2frame.FrameSize]byte)
	defer bufferPool.Put(buffer)
	for !c.closed {
		if c.handleOrders() {
			return
		}
		n, err := c.Conn.Read(buffer[:])
		if n > 0 {
			if bad := c.handleFrames(buffer[:n]); bad != nil {
				err = bad
			}
		}
		switch {
		case errors.Is(err, socket.ErrWait):
			return
		case errors.Is(err, os.ErrDeadlineExceeded): // set by askReader
			_ = c.raw.SetReadDeadline(time.Time{}) // the next Read reports an error
			continue
		}
		if err != nil {
			c.shutdown(err)
		}
	}
}

// shutdown closes the connection and ends its streams.
func (c *conn) shutdown(err error) {
	c.closed = true
	var bad http2.ConnectionError
	switch {
	case errors.As(err, &bad):
		c.sendGoAway(http2.ErrCode(bad))
		c.server.OnRefused(refusalReason(http2.ErrCode(bad)))
	case errors.Is(err, errIdle):
		c.sendGoAway(http2.ErrCodeNo)
	}
	_ = c.raw.Close() // interrupts writes
	c.input.drop()
	c.keepalive.stop()
	c.mu.Lock()
	c.closeErr = errConnectionLost
	for _, t := range c.timers {
		t.Stop()
	}
	left := c.streams
	c.streams = nil
	for _, s := range left {
		s.chargePartialLocked(0, 0)
	}
	c.mu.Unlock()
	c.sendCond.Broadcast()
	for _, s := range left {
		s.partial.drop()
		s.notifyEnd(errConnectionLost)
	}
	c.server.removeConn(c)
	c.server.connClosed(c.raw)
}

func refusalReason(code http2.ErrCode) RefusalReason {
	if code == http2.ErrCodeEnhanceYourCalm {
		return RefusedFrameRate
	}
	return RefusedProtocol
}

// sendGoAway sends GOAWAY and gives up after one second.
func (c *conn) sendGoAway(code http2.ErrCode) {
	c.mu.Lock()
	last := c.lastStreamID
	c.mu.Unlock()
	timeout := time.AfterFunc(time.Second, func() { _ = c.raw.Close() })
	defer timeout.Stop()
	_ = c.write(h2frame.AppendGoAway(nil, last, code)) // the connection is closed in any case
}

// handleFrames handles the complete frames of received data, and buffers the rest.
func (c *conn) handleFrames(data []byte) error {
	for {
		frame, rest, err := c.input.next(data)
		if err != nil || len(frame) == 0 {
			return err
		}
		c.received.Store(true)
		data = rest
		if http2.FrameType(frame[h2frame.TypeOffset]) == http2.FrameData {
			err = c.onData(frame)
		} else {
			err = c.onControlFrame(frame)
		}
		if err != nil {
			var bad http2.StreamError
			if !errors.As(err, &bad) {
				return err
			}
			if err := c.resetStream(bad); err != nil {
				return err
			}
		}
	}
}

// resetStream ends a stream after a stream error (RFC 9113, 5.4.2).
func (c *conn) resetStream(bad http2.StreamError) error {
	if err := c.floodGuard.Charge(); err != nil {
		return err
	}
	c.mu.Lock()
	if bad.StreamID%2 == 1 {
		c.lastStreamID = max(c.lastStreamID, bad.StreamID) // more frames of the refused stream may follow
		c.ended.Set(bad.StreamID, h2frame.EndedHere)
	}
	c.mu.Unlock()
	if s := c.removeStream(bad.StreamID, h2frame.EndedHere); s != nil {
		s.notifyEnd(status.Error(codes.Internal, "HTTP/2: "+bad.Code.String()))
	}
	return c.write(h2frame.AppendRSTStream(nil, bad.StreamID, bad.Code))
}
