package proxy

import (
	"net"

	"anymesh.dev/anymesh/internal/proxy/stream"
	"anymesh.dev/anymesh/internal/proxy/websocket"
)

// upgrade is the stream of a WebSocket client before and after the answer to its request.
type upgrade struct {
	*websocket.Stream // nil before
	nc                net.Conn
}

// opened returns the stream after the answer.
func (u *upgrade) opened() stream.Stream { return u.Stream }

// Close implements stream.Stream.
func (u *upgrade) Close() error {
	if u.Stream == nil {
		return u.nc.Close()
	}
	return u.Stream.Close()
}
