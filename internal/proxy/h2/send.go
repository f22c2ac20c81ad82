package h2

import (
	"errors"
	"net"
	"os"
	"strconv"

	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/h2frame"
	"anymesh.dev/anymesh/internal/proxy/http1"
)

// textLimits are those of the text that this program writes.
var textLimits = http1.Limits{Head: 1 << 20, Fields: 2000}

// errText is the error of text that is no message.
var errText = errors.New("HTTP/2: more was written than the message has")

// Write implements net.Conn: it takes the text of a message.
func (s *Stream) Write(p []byte) (int, error) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := p
	for len(rest) > 0 {
		if err := s.writable(); err != nil {
			s.fail(err)
			return len(p) - len(rest), err
		}
		if s.headSent {
			if err := s.body(rest); err != nil {
				return 0, err
			}
			break
		}
		text := rest
		if len(s.head) > 0 {
			s.head = append(s.head, rest...)
			text = s.head
		}
		size, err := s.sendHead(text)
		if err != nil {
			s.fail(err) // there is no response to wait for
			return 0, err
		}
		if size == 0 {
			if len(s.head) == 0 {
				s.head = append(s.head, rest...)
			}
			return len(p), nil
		}
		rest, s.head = text[size:], nil
	}
	c.flush()
	return len(p), nil
}

// writable returns the reason why nothing can be sent. It requires the lock.
func (s *Stream) writable() error {
	switch {
	case s.closed:
		return net.ErrClosed
	case s.readErr != nil && !s.remoteEnd:
		return s.readErr
	case s.c.err != nil:
		return s.c.err
	case s.id != 0 && !s.localEnd && !s.unwanted && s.c.streams[s.id] != s:
		return errReset
	case over(s.writeLimit):
		return os.ErrDeadlineExceeded
	}
	return nil
}

// sendHead sends a head, and returns its size; 0 if it is not complete.
func (s *Stream) sendHead(text []byte) (int, error) {
	if s.c.client {
		return s.sendRequest(text)
	}
	return s.sendResponse(text)
}

// sendResponse sends the head of a response.
func (s *Stream) sendResponse(text []byte) (int, error) {
	c := s.c
	r := &c.response
	size, err := r.Parse(text, 0, textLimits)
	if size == 0 || err != nil {
		return 0, err
	}
	status := r.Status
	upgraded := status == 101
	if upgraded {
		if !s.tunnel {
			return 0, errText
		}
		status = 200
	}
	c.field(":status", strconv.Itoa(status))
	for i := range r.Fields {
		if f := &r.Fields[i]; !f.Hop && (!upgraded || !http1.Is(f.Name, "sec-websocket-accept")) {
			c.field(c.name(f.Name), string(f.Value))
		}
	}
	if r.Status < 200 && !upgraded {
		c.headers(s.id, false)
		return size, nil
	}
	s.headSent = true
	switch {
	case upgraded:
		s.sending = raw
	case s.method == "HEAD" || !r.HasBody(nil):
		s.sending = noBody
	case r.Chunked:
		s.sending = chunked
		s.chunks.Reset()
	default:
		s.sending, s.unsent = sized, max(0, r.Length)
	}
	if s.sending != raw && s.tunnel {
		s.tunnel = false
	}
	end := s.sending == noBody || s.sending == sized && s.unsent == 0
	c.headers(s.id, end)
	s.ended(end)
	return size, nil
}

// ended notes that END_STREAM was sent. It requires the lock.
func (s *Stream) ended(end bool) {
	if !end {
		return
	}
	s.localEnd = true
	if s.remoteEnd {
		s.c.remove(s, h2frame.EndedByPeer)
	}
}

// body sends a part of the body. It requires the lock.
func (s *Stream) body(p []byte) error {
	switch s.sending {
	case raw:
		return s.data(p, false)
	case sized:
		if int64(len(p)) > s.unsent {
			return errText
		}
		s.unsent -= int64(len(p))
		return s.data(p, s.unsent == 0)
	case chunked:
		return s.chunk(p)
	}
	return errText
}

// chunk sends what chunks have. The last data is sent together with the end, if both are there.
func (s *Stream) chunk(p []byte) error {
	var waiting []byte
	if len(s.head) > 0 { // a part of a line of the previous call
		s.head = append(s.head, p...)
		p = s.head
	}
	for len(p) > 0 && !s.chunks.Done() {
		data, used, err := s.chunks.Next(p)
		if err != nil {
			return err
		}
		if p = p[used:]; used == 0 {
			break
		}
		if len(data) == 0 {
			continue
		}
		if len(waiting) > 0 {
			if err := s.data(waiting, false); err != nil {
				return err
			}
		}
		waiting = data
	}
	done := s.chunks.Done()
	if done && len(p) > 0 {
		return errText
	}
	trailers := s.chunks.Trailer
	if end := done && len(trailers) == 0; len(waiting) > 0 || end {
		if err := s.data(waiting, end); err != nil {
			return err
		}
	}
	if done && len(trailers) > 0 {
		s.c.fields(trailers)
		s.c.headers(s.id, true)
		s.ended(true)
	}
	s.head = append(s.head[:0:0], p...)
	return nil
}

// fields encodes lines of trailers. It requires the lock.
func (c *conn) fields(lines []byte) {
	for name, value := range http1.Lines(lines) {
		c.field(c.name(name), string(value))
	}
}

// data sends data as the windows allow. It requires the lock, and releases it while it waits.
func (s *Stream) data(p []byte, end bool) error {
	c := s.c
	for {
		if err := s.writable(); err != nil {
			return err
		}
		if s.unwanted {
			return nil
		}
		n := min(len(p), s.send, c.send, h2frame.FrameSize)
		if len(p) > 0 && n <= 0 || len(c.out) > maxQueued {
			c.flush()
			if err := s.writable(); err != nil {
				return err
			}
			if len(p) > 0 && min(s.send, c.send) <= 0 {
				s.changed.Wait()
			} else if len(c.out) > maxQueued {
				c.changed.Wait()
			}
			continue
		}
		last := end && n == len(p)
		flags := http2.Flags(0)
		if last {
			flags = http2.FlagDataEndStream
		}
		c.out = append(h2frame.AppendHeader(c.out, http2.FrameData, flags, s.id, n), p[:n]...)
		s.send -= n
		c.send -= n
		c.flood.Credit(1)
		if p = p[n:]; len(p) == 0 {
			s.ended(last)
			return nil
		}
	}
}
