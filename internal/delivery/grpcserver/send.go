package grpcserver

import (
	"encoding/binary"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/status"
)

// buffers hold what is on its way to a socket: frames, as long as one TLS record.
var buffers = sync.Pool{New: func() any { return new([smallestFrame]byte) }}

// Send sends a message in parts, which are not kept. It blocks while the client takes no more. It fails when either side has ended the
// stream, or the connection is lost. A stream sends one message at a time: calls must not overlap.
func (s *Stream) Send(parts ...[]byte) error {
	var head [prefix]byte
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	binary.BigEndian.PutUint32(head[1:], uint32(size))
	w := writer{stream: s, conn: s.conn, buffer: buffers.Get().(*[smallestFrame]byte)}
	defer buffers.Put(w.buffer)
	w.out = w.buffer[:0]
	w.conn.writing.Lock()
	defer w.conn.writing.Unlock()
	err := w.message(head[:], parts, prefix+size)
	if last := w.flush(); err == nil { // what is in the buffer is counted as sent, also where it is the last
		err = last
	}
	if err == nil {
		w.conn.calm.earn()
	}
	return err
}

// writer writes one message. It needs the connection's writing lock.
type writer struct {
	stream *Stream
	conn   *conn
	buffer *[smallestFrame]byte
	out    []byte // the part of the buffer that is used
}

func (w *writer) message(part []byte, rest [][]byte, left int) error {
	for left > 0 {
		headers := 0
		if !w.stream.begun {
			headers = frameHeader + len(responseHeaders)
		}
		room := cap(w.out) - len(w.out) - frameHeader - headers
		if room <= 0 {
			if err := w.flush(); err != nil {
				return err
			}
			w.conn.writing.Unlock() // others have something to say, too
			w.conn.writing.Lock()
			continue
		}
		n, err := w.stream.reserve(min(left, room))
		if err != nil {
			return err
		}
		if n == 0 {
			if err := w.wait(); err != nil {
				return err
			}
			continue
		}
		if !w.stream.begun {
			w.out = appendHeaders(w.out, w.stream.id)
			w.stream.begun = true // nobody else writes before it is flushed
		}
		w.out = appendFrame(w.out, http2.FrameData, 0, w.stream.id, n)
		left -= n
		for n > 0 {
			if len(part) == 0 {
				part, rest = rest[0], rest[1:]
				continue
			}
			some := part[:min(n, len(part))]
			w.out = append(w.out, some...)
			part, n = part[len(some):], n-len(some)
		}
	}
	return nil
}

// wait blocks until the client takes more, and lets others write meanwhile.
func (w *writer) wait() error {
	if err := w.flush(); err != nil {
		return err
	}
	w.conn.writing.Unlock()
	defer w.conn.writing.Lock()
	return w.stream.await()
}

func (w *writer) flush() error {
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.conn.Conn.Write(w.out)
	w.out = w.out[:0]
	if err != nil {
		_ = w.conn.raw.Close() // what the client got is not known: nothing can follow it
		return err
	}
	w.conn.moved.Store(true)
	return nil
}

// finishing is how long the end of a stream may take to leave.
const finishing = 10 * time.Second

// Finish ends the stream and tells the client how; nil is a good end, an error without a gRPC status is Unknown. Whoever sends is interrupted: at
// once where the client's windows are full, within 10 seconds where the socket is.
// Only the first call counts, and none does when the client has ended the stream.
func (s *Stream) Finish(end error) {
	c := s.conn
	c.mu.Lock()
	late := s.finished || s.closed || c.lost != nil
	said := s.said
	s.finished = true
	c.removeLocked(s.id)
	if s.cancel != nil {
		s.cancel()
	}
	c.mu.Unlock()
	if late {
		return
	}
	_ = c.raw.SetWriteDeadline(time.Now().Add(finishing)) // a connection that is closed fails below
	c.writing.Lock()
	defer c.writing.Unlock()
	b := appendTrailers(nil, s.id, status.Convert(end), !s.begun)
	if !said {
		b = appendReset(b, s.id, http2.ErrCodeNo)
	}
	if _, err := c.Conn.Write(b); err != nil {
		_ = c.raw.Close()
		return
	}
	_ = c.raw.SetWriteDeadline(time.Time{})
}
