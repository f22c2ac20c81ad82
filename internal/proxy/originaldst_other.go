//go:build !linux

package proxy

import (
	"errors"
	"net"
	"net/netip"
)

// originalDestination returns where a redirected connection was going.
func originalDestination(*net.TCPConn) (netip.AddrPort, error) {
	return netip.AddrPort{}, errors.New("redirected connections need Linux")
}
