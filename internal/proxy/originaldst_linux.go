package proxy

import (
	"encoding/binary"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// soOriginalDst is SO_ORIGINAL_DST of netfilter, for both families.
const soOriginalDst = 80

// originalDestination returns where a redirected connection was going.
func originalDestination(nc *net.TCPConn) (out netip.AddrPort, err error) {
	raw, err := nc.SyscallConn()
	if err != nil {
		return out, err
	}
	v4 := addrPort(nc.LocalAddr()).Addr().Is4()
	failed := raw.Control(func(fd uintptr) {
		if v4 {
			var m *unix.IPv6Mreq // as large as an address with port of IPv4, and larger
			if m, err = unix.GetsockoptIPv6Mreq(int(fd), unix.SOL_IP, soOriginalDst); err == nil {
				a := m.Multiaddr // family, port, address
				out = netip.AddrPortFrom(netip.AddrFrom4([4]byte(a[4:8])), binary.BigEndian.Uint16(a[2:4]))
			}
			return
		}
		var m *unix.IPv6MTUInfo
		if m, err = unix.GetsockoptIPv6MTUInfo(int(fd), unix.SOL_IPV6, soOriginalDst); err == nil {
			port := binary.NativeEndian.AppendUint16(nil, m.Addr.Port)
			out = netip.AddrPortFrom(netip.AddrFrom16(m.Addr.Addr).Unmap(), binary.BigEndian.Uint16(port))
		}
	})
	if failed != nil {
		return out, failed
	}
	return out, err
}
