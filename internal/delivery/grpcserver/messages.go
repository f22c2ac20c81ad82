package grpcserver

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/h2frame"
)

// onData handles received data. size is the length of the frame payload including padding.
func (s *Stream) onData(size int, body []byte) error {
	c := s.conn
	c.mu.Lock()
	err := s.recvWindow.Receive(size)
	queued := s.firstMessage.handling
	if queued {
		s.firstMessage.queuedBytes += size
	}
	said := s.remoteClosed
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if said {
		return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeStreamClosed}
	}
	if s.bodyLeft != h2frame.NoContentLength {
		if s.bodyLeft -= int64(len(body)); s.bodyLeft < 0 {
			return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeProtocol} // RFC 9113, 8.1.1
		}
	}
	if !s.rejected {
		s.splitMessages(body)
	}
	if queued || s.rejected { // the window limits data that is ignored
		return nil
	}
	c.mu.Lock()
	by := s.releaseWindow(size, !s.partial.empty() && s.waitsForReservation())
	c.mu.Unlock()
	if by > 0 {
		return c.write(h2frame.AppendWindowUpdate(nil, s.id, by))
	}
	return nil
}

// releaseWindow returns processed bytes to the window of the stream, unless its message waits for a reservation. It
// returns the increment of a WINDOW_UPDATE to send. It requires the connection's lock.
func (s *Stream) releaseWindow(n int, waits bool) (by int) {
	if waits {
		return s.recvWindow.Release(n, h2frame.LargestWindow)
	}
	return s.recvWindow.Release(n, streamWindowSize/2)
}

// splitMessages delivers the complete messages of received data, and buffers the rest.
func (s *Stream) splitMessages(body []byte) {
	p := &s.partial
	for len(body) > 0 && !s.rejected {
		if p.empty() && len(body) >= messagePrefixLen {
			end := messagePrefixLen + int(binary.BigEndian.Uint32(body[1:]))
			if len(body) >= end {
				if err := s.checkPrefix(body); err != nil {
					s.reject(err)
					return
				}
				s.deliver(body[messagePrefixLen:end], false)
				body = body[end:]
				continue
			}
		}
		if body = p.addPrefix(body); p.prefixSize < messagePrefixLen {
			return
		}
		if err := s.checkPrefix(p.prefix[:]); err != nil {
			s.reject(err)
			return
		}
		n := min(len(body), p.messageSize()-p.size)
		if !s.chargePartial(p.capacityFor(n), p.messageSize()) {
			s.reject(errUnfinished)
			return
		}
		p.add(body[:n])
		body = body[n:]
		if p.size == p.messageSize() {
			s.deliver(p.take(), true)
			s.chargePartial(0, 0) // unless the charge has moved with the message
		}
	}
}

// checkPrefix checks the prefix of a message.
func (s *Stream) checkPrefix(prefix []byte) error {
	if prefix[0] != 0 {
		return status.Error(codes.Unimplemented, "compressed messages are not supported")
	}
	size := int(binary.BigEndian.Uint32(prefix[1:]))
	if most := s.conn.server.MaxRecvMsgSize; most > 0 && size > most {
		return status.Errorf(codes.ResourceExhausted, "message has %d bytes, at most %d are allowed", size, most)
	}
	return nil
}

var errUnfinished = status.Error(codes.ResourceExhausted,
	"the unfinished messages of this client have too many bytes; send one after the other")

func (s *Stream) reject(err error) {
	s.rejected = true
	s.partial.drop()
	s.chargePartial(0, 0)
	s.notifyEnd(err)
}

// queuedMessageCost is charged for each message that waits for the first one, in addition to its length.
const queuedMessageCost = 64

// deliver passes a message to the handler. The first message is handled in a new goroutine. owned is true if the
// message is not used otherwise.
func (s *Stream) deliver(message []byte, owned bool) {
	c := s.conn
	c.mu.Lock()
	first := !s.firstMessage.received
	if closed := s.closed; closed || !first && !s.firstMessage.handling {
		c.mu.Unlock()
		if !closed {
			s.handler.OnMessage(message)
		}
		if owned {
			release(message)
		}
		return
	}
	cost := len(message) + queuedMessageCost
	if owned { // the charge moves with the message
		s.firstMessage.charged += s.takeCharge()
		cost = queuedMessageCost
	}
	if !c.server.charge(c, cost) {
		c.mu.Unlock()
		s.reject(errUnfinished)
		return
	}
	s.firstMessage.charged += cost
	if !owned {
		message = bytes.Clone(message)
	}
	s.firstMessage.received, s.firstMessage.handling = true, true
	if !first {
		s.firstMessage.queued = append(s.firstMessage.queued, message)
	}
	c.mu.Unlock()
	if first {
		c.server.wg.Go(func() { s.handleFirstMessage(message) })
	}
}

// handleFirstMessage handles the first message and the messages queued meanwhile.
func (s *Stream) handleFirstMessage(message []byte) {
	c := s.conn
	for {
		s.handler.OnMessage(message)
		release(message)
		c.mu.Lock()
		if len(s.firstMessage.queued) == 0 || s.finished {
			break
		}
		message, s.firstMessage.queued = s.firstMessage.queued[0], s.firstMessage.queued[1:]
		c.mu.Unlock()
	}
	ended, end := s.firstMessage.ended && !s.finished, s.firstMessage.endErr
	by, closed := s.releaseWindow(s.firstMessage.queuedBytes, s.waitsForReservation()), s.closed
	c.server.charge(c, -s.firstMessage.charged) // a closed stream is charged until here, too
	s.firstMessage = firstMessageState{received: true}
	c.mu.Unlock()
	switch {
	case ended:
		s.handler.OnEnd(end)
	case by > 0 && !closed:
		_ = c.write(h2frame.AppendWindowUpdate(nil, s.id, by)) // the reader notices a closed connection
	}
}

func (s *Stream) isRemoteClosed() bool {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.remoteClosed
}

// onEndStream handles END_STREAM.
func (s *Stream) onEndStream() error {
	if s.bodyLeft > 0 {
		return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeProtocol} // RFC 9113, 8.1.1
	}
	s.conn.mu.Lock()
	s.remoteClosed = true
	if s.finished {
		s.conn.removeStreamLocked(s.id, h2frame.EndedByPeer)
	}
	s.conn.mu.Unlock()
	if !s.partial.empty() {
		s.reject(status.Error(codes.Internal, "the stream ended within a message"))
		return nil
	}
	s.notifyEnd(nil)
	return nil
}

// notifyEnd calls OnEnd once, after the queued messages.
func (s *Stream) notifyEnd(err error) {
	c := s.conn
	c.mu.Lock()
	if s.cancel != nil && err != nil {
		s.cancel()
	}
	told := s.endNotified || s.finished
	s.endNotified = true
	if s.firstMessage.handling && !told {
		s.firstMessage.ended, s.firstMessage.endErr = true, err
	}
	wait := s.firstMessage.handling
	c.mu.Unlock()
	if !told && !wait {
		s.handler.OnEnd(err)
	}
}
