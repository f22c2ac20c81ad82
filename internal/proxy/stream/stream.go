package stream

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// MaxMessage is the maximum size of a message in bytes.
const MaxMessage = 65535

// ErrTooLong is the error of a message that does not fit.
var ErrTooLong = errors.New("the message is too long")

// Stream is one side of a session. Reads must not overlap, nor writes.
type Stream interface {
	// Read reads bytes, or one message. The buffer for messages has at least MaxMessage bytes. The error of the end of
	// data is io.EOF.
	Read(p []byte) (int, error)
	// Write writes bytes, or one message.
	Write(p []byte) (int, error)
	// CloseWrite tells the other side that no more data comes. Streams without this end as a whole, with ErrNoHalfClose.
	CloseWrite() error
	// Close ends the stream and interrupts reads and writes.
	Close() error
	// Messages reports whether reads and writes have boundaries.
	Messages() bool
}

// ErrNoHalfClose is the error of CloseWrite on streams whose protocol cannot say that one direction has ended.
var ErrNoHalfClose = errors.New("the protocol has no half-close")

// MessageReader is implemented by message streams that have each message in memory, of any size.
type MessageReader interface {
	// ReadMessage returns a message, which is valid until the next call.
	ReadMessage() ([]byte, error)
}

// Texter is implemented by message streams that tell texts from other messages.
type Texter interface {
	// Text reports whether the last message that was read is a text.
	Text() bool
	// SetText says whether the messages that are written are texts.
	SetText(bool)
}

// copyMessages moves messages.
func copyMessages(to Stream, from MessageReader, count func(bytes int)) error {
	source, a := from.(Texter)
	target, b := to.(Texter)
	for {
		message, err := from.ReadMessage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if a && b {
			target.SetText(source.Text())
		}
		count(len(message))
		if _, err := to.Write(message); err != nil {
			return err
		}
	}
}

// buffers are for copies. A buffer has room for every message.
var buffers = sync.Pool{New: func() any { b := make([]byte, MaxMessage+1); return &b }}

// Copier is implemented by streams that move data to some other streams by themselves.
type Copier interface {
	// CopyTo moves data until the end, as Copy does. It returns false if it cannot.
	CopyTo(to Stream, count func(bytes int)) (handled bool, err error)
}

// Copy moves data until EOF, and returns the first error that is not EOF. Counters are called for each piece.
func Copy(to, from Stream, count func(bytes int)) error {
	if a, b := tcpOf(to), tcpOf(from); a != nil && b != nil {
		return splice(a, b, count)
	}
	if c, is := from.(Copier); is {
		if handled, err := c.CopyTo(to, count); handled {
			return err
		}
	}
	if m, is := from.(MessageReader); is {
		return copyMessages(to, m, count)
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	for {
		n, err := from.Read(*buffer)
		if n > 0 || err == nil && from.Messages() {
			count(n)
			if _, err := to.Write((*buffer)[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// splice moves data in the kernel, where it has a call for that.
func splice(to, from *net.TCPConn, count func(int)) error {
	for {
		// A call moves what is there, up to this size, so that counters are current.
		n, err := to.ReadFrom(io.LimitReader(from, 16<<20))
		count(int(n))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if err = from.SetReadDeadline(time.Time{}); err == nil {
				continue // Count was called
			}
		}
		if err != nil || n < 16<<20 {
			return err
		}
	}
}

// Count makes a copy from a stream that the kernel moves count what has moved until now.
func Count(s Stream) {
	if tcp := tcpOf(s); tcp != nil {
		_ = tcp.SetReadDeadline(time.Unix(1, 0)) // it fails if the connection is closed
	}
}

// Conn is a byte stream of a connection.
type Conn struct{ net.Conn }

// Messages implements Stream.
func (Conn) Messages() bool { return false }

// CloseWrite implements Stream.
func (c Conn) CloseWrite() error {
	if half, is := c.Conn.(interface{ CloseWrite() error }); is {
		return half.CloseWrite()
	}
	return ErrNoHalfClose
}

// Packets is the stream of a connection with message boundaries.
type Packets struct{ Conn }

// Messages implements Stream.
func (Packets) Messages() bool { return true }

// Read implements Stream. The end of data is an empty packet for the system, and for net.Conn.
func (p Packets) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// tcpOf returns the TCP connection of a stream; nil if it has another protocol.
func tcpOf(s Stream) *net.TCPConn {
	c, is := s.(Conn)
	if !is {
		return nil
	}
	tcp, is := c.Conn.(*net.TCPConn)
	if !is {
		return nil
	}
	return tcp
}

// Join moves data in both directions, with half-close, until both have ended, or one has an error. Then it closes both.
func Join(a, b Stream) {
	done := make(chan struct{})
	one := func(to, from Stream) {
		if err := errors.Join(Copy(to, from, func(int) {}), to.CloseWrite()); err != nil {
			_, _ = a.Close(), b.Close() // ends the other direction
		}
	}
	go func() {
		defer close(done)
		one(a, b)
	}()
	one(b, a)
	<-done
	_, _ = a.Close(), b.Close() // all was written
}
