package grpcserver

import (
	"slices"

	"anymesh.dev/anymesh/internal/h2frame"
)

// isIdleStream reports whether the client has not opened the stream yet (state "idle" of RFC 9113, 5.1).
func (c *conn) isIdleStream(id uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return id > c.lastStreamID || id%2 == 0
}

func (c *conn) findStream(id uint32) *Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.streams {
		if s.id == id {
			return s
		}
	}
	return nil
}

// removeStream removes an open stream.
func (c *conn) removeStream(id uint32, by h2frame.End) *Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.removeStreamLocked(id, by)
}

// removeStreamLocked is removeStream with the lock held.
func (c *conn) removeStreamLocked(id uint32, by h2frame.End) *Stream {
	i := slices.IndexFunc(c.streams, func(s *Stream) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	s := c.streams[i]
	c.streams = slices.Delete(c.streams, i, i+1)
	s.closed = true
	s.chargePartialLocked(0, 0)
	if s.remoteClosed {
		by = h2frame.EndedByPeer
	}
	c.ended.Set(id, by)
	c.sendCond.Broadcast()
	return s
}
