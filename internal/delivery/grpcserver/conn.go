package grpcserver

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/delivery/socket"
)

// conn is one connection.
type conn struct {
	net.Conn // over TLS, if there is any
	raw      net.Conn
	tls      *tls.Conn
	server   *server

	readTask socket.Task // to read

	// Of the turn.
	rest    rest // of what came, that is no whole frame yet
	frame   bytes.Reader
	framer  *http2.Framer // reads from frame
	arrived inflow
	calm    calm
	over    bool

	heard atomic.Bool // something, since the watch looked last
	moved atomic.Bool // something of a message, to the socket
	watch watch

	writing sync.Mutex // to the socket; never taken under mu

	mu      sync.Mutex
	room    sync.Cond // in the windows of this connection and its streams
	streams []*Stream // that are open
	last    uint32    // the latest that was opened
	credit  int       // bytes of data that the client takes
	initial int       // credit of a new stream
	lost    error     // why there is no connection any more
}

// errLost is the end of calls whose connection is gone.
var errLost = status.Error(codes.Unavailable, "the connection is lost")

func newConn(s *server, raw net.Conn) *conn {
	c := &conn{
		Conn: raw, raw: raw, server: s, calm: newCalm(s.Options),
		credit: firstWindow, initial: firstWindow,
	}
	c.room.L = &c.mu
	return c
}

// greet exchanges the first words (RFC 9113, 3.4).
func (c *conn) greet() error {
	hello := appendSettings(nil,
		http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(c.server.mostStreams())},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: headerList})
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
	c.framer.SetMaxReadFrameSize(smallestFrame)
	c.framer.SetReuseFrames()
	c.framer.MaxHeaderListSize = headerList
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4<<10, nil) // bytes of the table: HTTP/2's default
	return nil
}

func (s *server) mostStreams() int {
	if s.Streams == 0 {
		return largestWindow
	}
	return s.Streams
}

// write sends control frames, or none of them.
func (c *conn) write(frames []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.Conn.Write(frames)
	return err
}

// serve has what comes read until the connection ends: by the crew, or here where the crew cannot watch it.
func (c *conn) serve() {
	c.watch.begin(c)
	c.readTask.Run = c.read
	if c.server.Workers.Watch(c.raw, &c.readTask) {
		c.server.Workers.Wake(&c.readTask) // something may have come with the first words
		return
	}
	for !c.over {
		c.read()
	}
}

// read takes in what has come.
func (c *conn) read() {
	buffer := buffers.Get().(*[smallestFrame]byte)
	defer buffers.Put(buffer)
	for !c.over {
		n, err := c.Conn.Read(buffer[:])
		if n > 0 {
			if bad := c.take(buffer[:n]); bad != nil {
				err = bad
			}
		}
		if errors.Is(err, socket.ErrWait) {
			return
		}
		if err != nil {
			c.end(err)
		}
	}
}

// end ends the connection and its calls.
func (c *conn) end(err error) {
	c.over = true
	var bad http2.ConnectionError
	switch {
	case errors.As(err, &bad):
		c.leave(http2.ErrCode(bad))
		c.server.Refused(refusalOf(http2.ErrCode(bad)))
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.leave(http2.ErrCodeNo) // the watch has it
	}
	_ = c.raw.Close() // whoever writes has to stop
	c.watch.end()
	c.mu.Lock()
	c.lost = errLost
	left := c.streams
	c.streams = nil
	c.mu.Unlock()
	c.room.Broadcast()
	for _, s := range left {
		s.end(errLost)
	}
	c.server.gone(c.raw)
}

func refusalOf(code http2.ErrCode) Refusal {
	if code == http2.ErrCodeEnhanceYourCalm {
		return Frames
	}
	return Protocol
}

// leave says goodbye, if the client still listens.
func (c *conn) leave(code http2.ErrCode) {
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	patience := time.AfterFunc(time.Second, func() { _ = c.raw.Close() })
	defer patience.Stop()
	_ = c.write(appendGoAway(nil, last, code)) // it is lost either way
}

// take takes in what the client said.
func (c *conn) take(data []byte) error {
	data = c.rest.with(data)
	left := data
	for {
		frame, err := first(left)
		if err != nil {
			return err
		}
		if len(frame) == 0 {
			break
		}
		c.heard.Store(true)
		left = left[len(frame):]
		if http2.FrameType(frame[kindAt]) == http2.FrameData {
			err = c.data(frame)
		} else {
			err = c.control(frame)
		}
		if err != nil {
			var bad http2.StreamError
			if !errors.As(err, &bad) {
				return err
			}
			if err := c.reset(bad); err != nil {
				return err
			}
		}
	}
	c.rest.keep(left, data)
	return nil
}

// reset ends a stream on which the client broke the rules.
func (c *conn) reset(bad http2.StreamError) error {
	if err := c.calm.spend(); err != nil {
		return err
	}
	c.mu.Lock()
	if bad.StreamID%2 == 1 {
		c.last = max(c.last, bad.StreamID) // it was not opened, and more of it may be on its way
	}
	c.mu.Unlock()
	if s := c.remove(bad.StreamID); s != nil {
		s.end(status.Error(codes.Internal, "HTTP/2: "+bad.Code.String()))
	}
	return c.write(appendReset(nil, bad.StreamID, bad.Code))
}

// unknown is whether the client has not opened the stream yet.
func (c *conn) unknown(id uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return id > c.last || id%2 == 0
}

func (c *conn) find(id uint32) *Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.streams {
		if s.id == id {
			return s
		}
	}
	return nil
}

// remove takes a stream out of those that are open.
func (c *conn) remove(id uint32) *Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.removeLocked(id)
}

// removeLocked is remove for who has the lock.
func (c *conn) removeLocked(id uint32) *Stream {
	i := slices.IndexFunc(c.streams, func(s *Stream) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	s := c.streams[i]
	c.streams = slices.Delete(c.streams, i, i+1)
	s.closed = true
	c.room.Broadcast()
	return s
}
