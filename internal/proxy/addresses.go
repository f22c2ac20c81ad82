package proxy

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
)

// plain returns the address without the form of IPv4 in IPv6.
func plain(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// addrPort returns the address of a TCP or UDP connection.
func addrPort(a net.Addr) netip.AddrPort {
	if with, is := a.(interface{ AddrPort() netip.AddrPort }); is {
		return plain(with.AddrPort())
	}
	return netip.AddrPort{}
}

func sessionName(protocol string, from, to net.Addr) string {
	return fmt.Sprintf("%s:%s-%s", protocol, addrPort(from), addrPort(to))
}

func connMetadata(protocol string, nc net.Conn) map[string]any {
	return pairMetadata(protocol, addrPort(nc.RemoteAddr()), addrPort(nc.LocalAddr()))
}

// pairMetadata returns the metadata of a connection between two addresses.
func pairMetadata(protocol string, from, to netip.AddrPort) map[string]any {
	return map[string]any{
		"IP":     map[string]any{"src_addr": from.Addr().String(), "dst_addr": to.Addr().String()},
		protocol: map[string]any{"src_port": int(from.Port()), "dst_port": int(to.Port())},
	}
}

// tlsMetadata returns the metadata of a connection with TLS.
func tlsMetadata(c *tls.Conn) map[string]any {
	meta := connMetadata("TCP", c)
	state := c.ConnectionState()
	one := map[string]any{"version": tls.VersionName(state.Version), "sni": state.ServerName, "alpn": state.NegotiatedProtocol}
	if len(state.PeerCertificates) > 0 {
		leaf := state.PeerCertificates[0]
		uris := []any{}
		for _, u := range leaf.URIs {
			uris = append(uris, u.String())
		}
		names := []any{}
		for _, n := range leaf.DNSNames {
			names = append(names, n)
		}
		one["peer"] = map[string]any{"subject": leaf.Subject.String(), "uris": uris, "dns": names}
	}
	meta["TLS"] = one
	return meta
}
