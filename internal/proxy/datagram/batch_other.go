//go:build !linux || !(amd64 || arm64)

package datagram

import (
	"net"
	"net/netip"

	"anymesh.dev/anymesh/internal/proxy/stream"
)

// relay is for systems with calls for many packets.
type relay struct{}

// batch receives one packet.
type batch struct {
	conn   *net.UDPConn
	buffer []byte
	from   netip.AddrPort
	size   int
}

func newBatch(c *net.UDPConn) *batch {
	return &batch{conn: c, buffer: make([]byte, stream.MaxMessage+1)}
}

func (b *batch) receive() (n int, err error) {
	if b.size, b.from, err = b.conn.ReadFromUDPAddrPort(b.buffer); err != nil {
		return 0, err
	}
	return 1, nil
}

func (b *batch) addr(int) netip.AddrPort { return b.from }
func (b *batch) message(int) []byte      { return b.buffer[:b.size] }
func (b *batch) done(*Listener)          {}

func (p *Peer) direct(*batch, int) bool { return false }
