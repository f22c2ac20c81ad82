package grpcserver

import (
	"math"
	"slices"
	"time"

	"anymesh.dev/anymesh/internal/h2frame"
)

// A long message is received when there is room for all of it within MaxUnfinished. Until then the flow-control window
// of its stream stays closed. So many clients that connect at once, each with a long request, are served one after the
// other. A quarter of MaxUnfinished is left for short messages, and for the beginnings of those that wait.

// MessageTimeout is the time in which a client sends the rest of a long message after the reservation of its bytes.
// Then its connection is closed.
const MessageTimeout = 15 * time.Second

// partialCharge is what the partial message of a stream is charged. It is guarded by the lock of clients.
type partialCharge struct {
	bytes    int
	wanted   int         // bytes of the whole message, which waits for a reservation; 0 if it does not wait
	reserved bool        // bytes are those of the whole message
	deadline *time.Timer // of a reservation
}

// chargePartial charges the client for the received part of a message with a length. A part of 0 bytes ends the charge.
// It reports false if the client would have too many bytes. Once the stream is closed, the reader drops the message.
func (s *Stream) chargePartial(part, length int) bool {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.chargePartialLocked(part, length)
}

// chargePartialLocked is chargePartial with the connection's lock held.
func (s *Stream) chargePartialLocked(part, length int) bool {
	c, server := s.conn, s.conn.server
	if c.client == nil {
		return true
	}
	if s.closed {
		part = 0
	}
	server.clients.mu.Lock()
	var cut []*conn
	p, ok := &s.charged, true
	asks := length > chunkSize && length <= server.maxReserved() && p.wanted == 0
	switch {
	case part == 0:
		cut = server.endCharge(s)
	case p.reserved:
	case asks && !server.mayCharge(c, length-p.bytes):
		ok = false
	case asks && len(server.clients.waiting) == 0 && server.hasRoom(length, p.bytes):
		server.reserve(s, length)
	default:
		if asks {
			p.wanted = length
			server.clients.waiting = append(server.clients.waiting, s)
		}
		if ok = server.mayCharge(c, part-p.bytes); ok {
			cut = server.chargeLocked(c, part-p.bytes)
			p.bytes = part
		}
	}
	granted := server.grantLocked()
	server.clients.mu.Unlock()
	server.settle(ok, cut, granted)
	return ok
}

// hasRoom reports whether a message with a length can be reserved, of which some bytes are charged. It requires the
// lock of clients.
func (s *server) hasRoom(length, charged int) bool {
	return s.MaxUnfinished == 0 ||
		s.clients.reserved+length <= s.maxReserved() && s.clients.unfinished+length-charged <= s.MaxUnfinished
}

// maxReserved is the limit of reserved bytes. A longer message is charged as it is received.
func (s *server) maxReserved() int {
	if s.MaxUnfinished == 0 {
		return math.MaxInt
	}
	return s.MaxUnfinished / 4 * 3
}

// reserve charges the whole of a message with a length. It requires the lock of clients.
func (s *server) reserve(stream *Stream, length int) {
	p, c := &stream.charged, stream.conn
	s.chargeLocked(c, length-p.bytes) // there is room for it
	*p = partialCharge{bytes: length, reserved: true}
	s.clients.reserved += length
	c.client.reserved += length
	var deadline *time.Timer
	deadline = time.AfterFunc(MessageTimeout, func() {
		s.clients.mu.Lock()
		late := p.deadline == deadline
		s.clients.mu.Unlock()
		if late {
			_ = c.raw.Close() // the reader notices it
			s.OnRefused(RefusedUnfinished)
		}
	})
	p.deadline = deadline
}

// endReservation keeps the charge. It requires the lock of clients.
func (s *server) endReservation(stream *Stream) {
	p := &stream.charged
	switch {
	case p.reserved:
		p.deadline.Stop()
		s.clients.reserved -= p.bytes
		stream.conn.client.reserved -= p.bytes
	case p.wanted > 0:
		s.clients.waiting = slices.DeleteFunc(s.clients.waiting, func(other *Stream) bool { return other == stream })
	}
	*p = partialCharge{bytes: p.bytes}
}

// endCharge requires the lock of clients.
func (s *server) endCharge(stream *Stream) (cut []*conn) {
	s.endReservation(stream)
	n := stream.charged.bytes
	stream.charged.bytes = 0
	return s.chargeLocked(stream.conn, -n)
}

// takeCharge ends the charge of a complete message, and returns its bytes, which stay charged to the client.
func (s *Stream) takeCharge() int {
	server := s.conn.server
	server.clients.mu.Lock()
	defer server.clients.mu.Unlock()
	server.endReservation(s)
	n := s.charged.bytes
	s.charged.bytes = 0
	return n
}

// grantLocked reserves bytes for messages that wait, in their order, and returns their streams. Those whose clients
// have too many bytes go on to wait. It requires the lock of clients.
func (s *server) grantLocked() (granted []*Stream) {
	all := &s.clients
	all.waiting = slices.DeleteFunc(all.waiting, func(stream *Stream) bool {
		p := &stream.charged
		if !s.hasRoom(p.wanted, p.bytes) || !s.mayCharge(stream.conn, p.wanted-p.bytes) {
			return false
		}
		s.reserve(stream, p.wanted)
		granted = append(granted, stream)
		return true
	})
	return granted
}

func (s *Stream) waitsForReservation() bool {
	s.conn.server.clients.mu.Lock()
	defer s.conn.server.clients.mu.Unlock()
	return s.charged.wanted > 0
}

// openWindow opens the window of a stream after the reservation for its message.
func (s *Stream) openWindow() {
	c := s.conn
	c.mu.Lock()
	by := s.recvWindow.Release(0, 1)
	closed := s.closed
	c.mu.Unlock()
	if by > 0 && !closed {
		_ = c.write(h2frame.AppendWindowUpdate(nil, s.id, by)) // the reader notices a closed connection
	}
}
