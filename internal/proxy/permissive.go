package proxy

import (
	"net"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// How long a permissive listener waits for the first byte of a client. In HTTP, the client sends first; the server may
// be the first on a stream, and then the client waits for this time.
const (
	requestDetection = 5 * time.Second
	streamDetection  = time.Second
)

// recordHandshake is the first byte of TLS: RFC 8446, 5.1.
const recordHandshake = 22

// beginsTLS reports whether a client begins with TLS. It reads nothing.
func beginsTLS(nc net.Conn, p config.Protocol) bool {
	limit := streamDetection
	if p == config.HTTP {
		limit = requestDetection
	}
	_ = nc.SetReadDeadline(time.Now().Add(limit)) // it fails if the connection is closed
	first, ok := firstByte(nc)
	_ = nc.SetReadDeadline(time.Time{}) // as above
	return ok && first == recordHandshake
}
