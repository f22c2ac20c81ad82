//go:build !linux

package proxy

import "net"

// firstByte needs Linux: other systems take every client for one without TLS.
func firstByte(net.Conn) (byte, bool) { return 0, false }
