package proxy

import (
	"net"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/proxyprotocol"
)

// readProxyHeader reads the header of the PROXY protocol, if the listener has it. It returns false if the connection
// has none, which is then closed.
func readProxyHeader(spec *config.ListenerSpec, nc net.Conn) (h proxyprotocol.Header, ok bool) {
	if !spec.ProxyProtocol {
		return h, true
	}
	_ = nc.SetReadDeadline(time.Now().Add(handshakeTimeout)) // it fails if the connection is closed
	h, err := proxyprotocol.Read(nc)
	if err != nil {
		_ = nc.Close() // it is no connection of a proxy
		return h, false
	}
	_ = nc.SetReadDeadline(time.Time{}) // as above
	return h, true
}

// addressed puts the addresses of the header into the metadata of a connection.
func addressed(meta map[string]any, h proxyprotocol.Header) map[string]any {
	if h.Source.IsValid() {
		for key, value := range pairMetadata("TCP", plain(h.Source), plain(h.Destination)) {
			meta[key] = value
		}
	}
	return meta
}
