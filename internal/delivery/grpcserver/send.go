package grpcserver

import (
	"encoding/binary"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/h2frame"
)

// bufferPool holds buffers for reads from and writes to sockets, of the size of a frame, which is that of a TLS
// record.
var bufferPool = sync.Pool{New: func() any { return new([h2frame.FrameSize]byte) }}

// Send sends a message that consists of parts. The parts are not retained. Send blocks while the flow-control window
// of the client is empty. It fails when either side has ended the stream or the connection is closed. Calls for one
// stream must not overlap.
func (s *Stream) Send(parts ...[]byte) error {
	var head [messagePrefixLen]byte
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	binary.BigEndian.PutUint32(head[1:], uint32(size))
	w := messageWriter{stream: s, conn: s.conn, buffer: bufferPool.Get().(*[h2frame.FrameSize]byte)}
	defer bufferPool.Put(w.buffer)
	w.out = w.buffer[:0]
	w.conn.writing.Lock()
	defer w.conn.writing.Unlock()
	err := w.writeMessage(head[:], parts, messagePrefixLen+size)
	// also after an error: the buffered bytes are already subtracted from the send window
	if last := w.flush(); err == nil {
		err = last
	}
	w.conn.floodGuard.Credit(w.frames)
	return err
}

// messageWriter writes one message. It requires the connection's write lock.
type messageWriter struct {
	stream *Stream
	conn   *conn
	buffer *[h2frame.FrameSize]byte
	out    []byte // used part of the buffer
	frames int    // DATA frames of the message
}

func (w *messageWriter) writeMessage(part []byte, rest [][]byte, left int) error {
	for left > 0 {
		headers := 0
		if !w.stream.headersSent {
			headers = h2frame.HeaderLen + len(responseHeaders)
		}
		room := cap(w.out) - len(w.out) - h2frame.HeaderLen - headers
		if room <= 0 {
			if err := w.flush(); err != nil {
				return err
			}
			w.conn.writing.Unlock() // let other streams write
			w.conn.writing.Lock()
			continue
		}
		n, err := w.stream.reserveWindow(min(left, room))
		if err != nil {
			return err
		}
		if n == 0 {
			if err := w.wait(); err != nil {
				return err
			}
			continue
		}
		if !w.stream.headersSent {
			w.out = appendResponseHeaders(w.out, w.stream.id)
			w.stream.headersSent = true // the write lock is held until the flush
		}
		w.out = h2frame.AppendHeader(w.out, http2.FrameData, 0, w.stream.id, n)
		w.frames++
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

// wait blocks until the send window is not empty. Other streams can write meanwhile.
func (w *messageWriter) wait() error {
	if err := w.flush(); err != nil {
		return err
	}
	w.conn.writing.Unlock()
	defer w.conn.writing.Lock()
	return w.stream.awaitWindow()
}

func (w *messageWriter) flush() error {
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.conn.Conn.Write(w.out)
	w.out = w.out[:0]
	if err != nil {
		_ = w.conn.raw.Close() // the client may have received a part of a frame: no other frame can follow
		return err
	}
	w.conn.wroteData.Store(true)
	return nil
}

// finishTimeout limits writing the end of a stream.
const finishTimeout = 10 * time.Second

// Finish ends the stream with a status. Nil is OK; an error without gRPC status is Unknown. It interrupts Send: at
// once if the flow-control window is empty, within 10 seconds if the socket is blocked. Only the first call has an
// effect, and none if the client has ended the stream.
func (s *Stream) Finish(end error) {
	c := s.conn
	c.mu.Lock()
	late := s.finished || s.closed || c.closeErr != nil
	said := s.remoteClosed
	s.finished = true
	c.removeStreamLocked(s.id, h2frame.EndedHere)
	if s.cancel != nil {
		s.cancel()
	}
	c.mu.Unlock()
	if late {
		return
	}
	_ = c.raw.SetWriteDeadline(time.Now().Add(finishTimeout)) // an error shows in the write below
	c.writing.Lock()
	defer c.writing.Unlock()
	b := appendTrailers(nil, s.id, status.Convert(end), !s.headersSent)
	if !said {
		b = h2frame.AppendRSTStream(b, s.id, http2.ErrCodeNo)
	}
	if _, err := c.Conn.Write(b); err != nil {
		_ = c.raw.Close()
		return
	}
	_ = c.raw.SetWriteDeadline(time.Time{})
}
