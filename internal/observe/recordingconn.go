package observe

import (
	"net"
	"strings"
	"sync"
)

// headLimit is the number of bytes of a connection that are recorded: more than a status line.
const headLimit = 64

// head records the first bytes of a connection.
type head struct {
	mu    sync.Mutex
	bytes []byte
}

func (h *head) add(b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes = append(h.bytes, b[:min(len(b), headLimit-len(h.bytes))]...)
}

func (h *head) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes = nil
}

// status returns the status of an HTTP response, or the bytes if it is none.
func (h *head) status() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := string(h.bytes)
	if rest, is := strings.CutPrefix(text, "HTTP/1.1 "); is {
		text, _, _ = strings.Cut(rest, " ")
	}
	return text
}

// recordingConn records the first bytes that are received.
type recordingConn struct {
	net.Conn
	received *head
}

func (c recordingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.add(b[:n])
	return n, err
}
