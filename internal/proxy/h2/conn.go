package h2

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"anymesh.dev/anymesh/internal/h2frame"
	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/internal/proxy/rawconn"
)

// Sizes in bytes.
const (
	// streamWindow is the window of each stream for data that the proxy receives.
	streamWindow = 256 << 10
	// serverWindow is the window of a connection of a client: what all its requests may have in memory.
	serverWindow = 4 << 20
	// clientWindow is the window of a connection to an endpoint. It opens again at once, because streams of several
	// clients must not wait for each other; the windows of the streams are the limit.
	clientWindow = 16 << 20
	// maxQueued is what waits for a peer that does not read, before streams wait, too.
	maxQueued = 256 << 10
	// maxControl is what may wait in addition for a peer that asks for answers, and does not read them.
	maxControl = 256 << 10
)

// Errors of streams.
var (
	// ErrNotProcessed is the error of a request that the endpoint has not processed, so that it can be sent again.
	ErrNotProcessed = errors.New("HTTP/2: the endpoint did not process the request")
	errReset        = errors.New("HTTP/2: the stream was reset")
	errClosed       = errors.New("HTTP/2: the connection was closed")
)

// conn is a connection of a client or to an endpoint.
type conn struct {
	nc     net.Conn
	client bool // this side is the client
	secure bool
	limits Limits
	serve  func(*Stream) // serves a stream of a client
	closed func()        // is called at the end; may be nil

	// Used by the goroutine that reads.
	in     *bufio.Reader
	framer *http2.Framer
	flood  h2frame.FloodGuard

	mu      sync.Mutex
	changed sync.Cond // output was written, or settings have come
	out     []byte    // frames that wait
	spare   []byte
	writing bool
	err     error // the connection has ended

	encoder  *hpack.Encoder
	block    bytes.Buffer // an encoded head
	names    map[string]string
	request  http1.Request // the head that is encoded now
	response http1.Response

	streams  map[uint32]*Stream
	running  int // streams that their user has not closed
	ended    h2frame.EndedStreams
	last     uint32 // the highest number of a stream
	window   h2frame.RecvWindow
	send     int  // what may be sent
	initial  int  // the window of new streams
	most     int  // streams that the peer allows
	connects bool // the peer allows extended CONNECT
	settings bool // those of the peer have come
	leaving  bool // no more streams: GOAWAY was sent or received

	watch
}

func newConn(nc net.Conn, client bool, l Limits) *conn {
	c := &conn{
		nc: nc, client: client, limits: l, streams: map[uint32]*Stream{}, names: map[string]string{},
		send: h2frame.InitialWindow, initial: h2frame.InitialWindow, most: 100,
	}
	if raw, is := rawconn.New(nc); is {
		c.nc = raw
	}
	if t, is := nc.(interface{ NetConn() net.Conn }); is && t.NetConn() != nil {
		c.secure = true
	}
	c.changed.L = &c.mu
	c.encoder = hpack.NewEncoder(&c.block)
	c.window.Remaining = serverWindow
	if client {
		c.window.Remaining = clientWindow
	} else {
		c.flood.Limit(l.Frames, l.FrameBurst)
	}
	return c
}

// start makes the input ready. First is what was read before.
func (c *conn) start(first []byte) {
	var in io.Reader = c.nc
	if len(first) > 0 {
		in = io.MultiReader(bytes.NewReader(first), c.nc)
	}
	c.in = bufio.NewReaderSize(in, h2frame.FrameSize)
	c.framer = http2.NewFramer(nil, c.in)
	c.framer.SetMaxReadFrameSize(h2frame.FrameSize)
	c.framer.SetReuseFrames()
	// One field beyond the limit of the framer would end the connection, which requests of others may share.
	c.framer.MaxHeaderListSize = uint32(4 * c.limits.Head)
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4<<10, nil) // the default size of the table
}

// read handles frames until the connection ends.
func (c *conn) read() {
	err := c.readFrames()
	code := http2.ErrCodeNo
	var bad http2.ConnectionError
	switch {
	case errors.As(err, &bad):
		code = http2.ErrCode(bad)
	case errors.Is(err, http2.ErrFrameTooLarge):
		code = http2.ErrCodeFrameSize
	}
	c.mu.Lock()
	if code != http2.ErrCodeNo && c.err == nil {
		c.out = h2frame.AppendGoAway(c.out, c.last, code)
		_ = c.nc.SetWriteDeadline(time.Now().Add(time.Second)) // it fails if the connection is closed
		c.flush()
		c.end(errClosed)
		c.mu.Unlock()
		c.linger()
	} else {
		c.end(errClosed)
		c.mu.Unlock()
	}
	_ = c.nc.Close() // all was sent
	c.stop()
	if c.closed != nil {
		c.closed()
	}
}

// linger reads what the peer still sends, so that the system does not reset the connection before the peer has read
// the reason of its end.
func (c *conn) linger() {
	if half, is := c.nc.(interface{ CloseWrite() error }); is {
		_ = half.CloseWrite() // it fails if the connection is closed
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(time.Second)) // as above
	_, _ = io.CopyN(io.Discard, c.in, 1<<20)
}

// end ends all streams. It requires the lock.
func (c *conn) end(err error) {
	if c.err == nil {
		c.err = err
	}
	for id, s := range c.streams {
		delete(c.streams, id)
		s.fail(c.err)
	}
	c.changed.Broadcast()
}

// abort ends the connection from another goroutine than that which reads.
func (c *conn) abort() { _ = c.nc.Close() }

// flush writes what waits; if another goroutine is writing, that one takes it along. It requires the lock, and releases
// it meanwhile.
func (c *conn) flush() {
	if c.writing || len(c.out) == 0 {
		return
	}
	c.writing = true
	c.mu.Unlock()
	runtime.Gosched() // other streams may have something to write, too
	c.mu.Lock()
	for len(c.out) > 0 {
		data := c.out
		c.out, c.spare = c.spare[:0], nil
		c.begin()
		c.mu.Unlock()
		_, err := c.nc.Write(data)
		c.mu.Lock()
		c.begun = 0
		if cap(data) <= 2*maxQueued {
			c.spare = data[:0]
		}
		if err != nil {
			c.out = nil
			_ = c.nc.Close() // the goroutine that reads ends
		}
		c.changed.Broadcast()
	}
	c.writing = false
}

// control appends a control frame.
func (c *conn) control(add func([]byte) []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.out) > maxQueued+maxControl {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	c.out = add(c.out)
	return nil
}

// name returns the name of a field in lower case.
func (c *conn) name(b []byte) string {
	if s, known := c.names[string(b)]; known {
		return s
	}
	s := strings.ToLower(string(b))
	if len(c.names) < 256 && len(b) < 64 {
		c.names[string(b)] = s
	}
	return s
}

// field encodes a field. It requires the lock.
func (c *conn) field(name, value string) {
	_ = c.encoder.WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: sensitive(name)}) // into memory
}

// sensitive reports whether the value of a field must not be in the table of the encoder, from which others could learn
// it (RFC 7541, 7.1.3), or is too seldom the same.
func sensitive(name string) bool {
	switch name {
	case "authorization", "cookie", "set-cookie", "proxy-authorization", ":path", "content-length", "date", "etag":
		return true
	}
	return false
}

// headers appends the encoded block as HEADERS and CONTINUATION frames. It requires the lock.
func (c *conn) headers(id uint32, end bool) {
	rest := c.block.Bytes()
	kind, flags := http2.FrameHeaders, http2.Flags(0)
	if end {
		flags = http2.FlagHeadersEndStream
	}
	for {
		n := min(len(rest), h2frame.FrameSize)
		if n == len(rest) {
			flags |= http2.FlagHeadersEndHeaders
		}
		c.out = append(h2frame.AppendHeader(c.out, kind, flags, id, n), rest[:n]...)
		if rest = rest[n:]; len(rest) == 0 {
			break
		}
		kind, flags = http2.FrameContinuation, 0
	}
	c.block.Reset()
}
