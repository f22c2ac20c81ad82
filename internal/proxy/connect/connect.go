package connect

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/datagram"
	"anymesh.dev/anymesh/internal/proxy/h2"
	"anymesh.dev/anymesh/internal/proxy/jsonsocket"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/proxyprotocol"
	"anymesh.dev/anymesh/internal/proxy/pseudo"
	"anymesh.dev/anymesh/internal/proxy/stream"
	"anymesh.dev/anymesh/internal/proxy/tlsfile"
	"anymesh.dev/anymesh/internal/proxy/websocket"
)

// Connector connects to endpoints.
type Connector struct {
	// Log gets what an administrator has to mend, once for each endpoint.
	Log *slog.Logger

	denied sync.Map // of unix sockets that are in the log, by path
}

// Connect returns a stream to an endpoint.
func (c *Connector) Connect(
	ctx context.Context, to *cluster.Cluster, e *cluster.Endpoint, meta *metadata.Tree,
) (stream.Stream, error) {
	if to.Spec.Protocol.Pseudo() {
		return pseudo.Open(&to.Spec, &to.Shared, meta)
	}
	return c.open(ctx, &to.Spec, e, meta)
}

func (c *Connector) open(
	ctx context.Context, spec *config.ClusterSpec, e *cluster.Endpoint, meta *metadata.Tree,
) (stream.Stream, error) {
	switch spec.Protocol {
	case config.TCP:
		nc, err := dial(ctx, spec, "tcp", e.Address, meta)
		if err != nil {
			return nil, err
		}
		return stream.Conn{Conn: nc}, nil
	case config.UDP:
		nc, err := dial(ctx, spec, "udp", e.Address, nil)
		if err != nil {
			return nil, err
		}
		return datagram.Conn{UDPConn: nc.(*net.UDPConn)}, nil
	case config.UnixDomainSocket:
		return c.unix(ctx, spec, e.Address)
	case config.HTTP:
		return c.http(ctx, spec, e, meta)
	case config.WebSocket:
		return c.webSocket(ctx, spec, e, meta)
	case config.JSONSocket:
		return c.jsonSocket(ctx, spec, e, meta)
	}
	return nil, fmt.Errorf("clusters of protocol %s cannot be connected with sessions of other protocols", spec.Protocol)
}

func (c *Connector) unix(ctx context.Context, spec *config.ClusterSpec, path string) (stream.Stream, error) {
	network := map[string]string{"datagram": "unixgram", "seqpacket": "unixpacket"}[spec.Type]
	nc, err := dial(ctx, spec, cmp.Or(network, "unix"), path, nil)
	if errors.Is(err, syscall.EACCES) {
		if _, again := c.denied.LoadOrStore(path, nil); !again {
			c.Log.Error("the user of the proxy may not connect to the socket: let the application create it with the "+
				"mode 0666, or run the proxy as the user of the application", "socket", path, "user", os.Getuid())
		}
	}
	if err != nil {
		return nil, err
	}
	switch network {
	case "unixgram":
		return datagram.UnixConn{UnixConn: nc.(*net.UnixConn)}, nil
	case "unixpacket":
		return stream.Packets{Conn: stream.Conn{Conn: nc}}, nil
	}
	return stream.Conn{Conn: nc}, nil
}

func (c *Connector) jsonSocket(
	ctx context.Context, spec *config.ClusterSpec, e *cluster.Endpoint, meta *metadata.Tree,
) (stream.Stream, error) {
	header, err := jsonsocket.Header(spec.Header, meta)
	if err != nil {
		return nil, err
	}
	transport, err := c.open(ctx, spec.Transport, e, meta)
	if err != nil {
		return nil, err
	}
	return shake(ctx, transport, func() (stream.Stream, error) { return jsonsocket.Connect(transport, header) })
}

func (c *Connector) webSocket(
	ctx context.Context, spec *config.ClusterSpec, e *cluster.Endpoint, meta *metadata.Tree,
) (stream.Stream, error) {
	nc, path, err := forRequest(ctx, spec, e, meta, true)
	if err != nil {
		return nil, err
	}
	return shake(ctx, nc, func() (stream.Stream, error) { return websocket.Dial(nc, e.Address, path, fields(meta)) })
}

// fields returns the fields of the client's request, as lines, without those of the handshake.
func fields(meta *metadata.Tree) string {
	all, _ := meta.Lookup(metadata.Path{"HTTP", "headers"}).Any.(map[string]any)
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value, is := all[name].(string)
		if !is || slices.Contains(ofHandshake, name) {
			continue
		}
		if name == "sec-websocket-protocol" {
			value, _, _ = strings.Cut(value, ",") // the listener has chosen the first one
		}
		fmt.Fprintf(&out, "%s: %s\r\n", name, value)
	}
	return out.String()
}

// ofHandshake are fields that each connection has of its own.
var ofHandshake = []string{
	"host", "connection", "upgrade", "sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions",
	"content-length", "transfer-encoding", "te", "keep-alive", "proxy-connection", "expect",
}

// shake makes a handshake. It closes the connection if the handshake fails or the context ends before.
func shake(ctx context.Context, c io.Closer, do func() (stream.Stream, error)) (stream.Stream, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // interrupts the handshake
	out, err := do()
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = c.Close() // the handshake has failed
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return out, nil
}

// Dial connects to an endpoint of an HTTP cluster.
func (c *Connector) Dial(
	ctx context.Context, to *cluster.Cluster, e *cluster.Endpoint, d metadata.Document,
) (net.Conn, error) {
	return dial(ctx, &to.Spec, "tcp", e.Address, d)
}

// dial connects to an address. The metadata have the addresses of the client for the PROXY protocol.
func dial(
	ctx context.Context, spec *config.ClusterSpec, network, address string, meta metadata.Document,
) (net.Conn, error) {
	var d net.Dialer
	if network == "tcp" && spec.Family != 0 {
		network = fmt.Sprintf("tcp%d", spec.Family)
	}
	if network == "unixgram" { // an abstract address, to which the endpoint can answer
		d.LocalAddr = &net.UnixAddr{Net: network, Name: "@" + rand.Text()}
	}
	if bind := spec.Bind.Addr(); spec.Bind != nil {
		if !bind.Addr().IsValid() {
			bind = netip.AddrPortFrom(netip.IPv4Unspecified(), bind.Port())
		}
		if network == "udp" {
			d.LocalAddr = net.UDPAddrFromAddrPort(bind)
		} else {
			d.LocalAddr = net.TCPAddrFromAddrPort(bind)
		}
	}
	if spec.SendTimeout > 0 {
		d.Control = sendTimeout(spec.SendTimeout)
	}
	nc, err := d.DialContext(ctx, network, address)
	if err == nil && spec.ProxyProtocol > 0 {
		from, at := clientAddresses(meta)
		if _, err = nc.Write(proxyprotocol.Append(nil, spec.ProxyProtocol, from, at)); err != nil {
			_ = nc.Close() // nothing was sent
		}
	}
	if err != nil || spec.TLS == nil {
		return nc, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	var protocols []string
	if spec.HTTP2 {
		protocols = h2.Protocols
	}
	c, err := tlsfile.Client(spec.TLS, host, protocols)
	if err != nil {
		_ = nc.Close() // nothing was sent
		return nil, fmt.Errorf("tls: %w", err)
	}
	secure := tls.Client(nc, c)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = nc.Close() // nothing was sent
		return nil, err
	}
	return secure, nil
}

// clientAddresses returns the addresses of the client and of what it connected to; invalid ones if they are unknown.
func clientAddresses(meta metadata.Document) (from, at netip.AddrPort) {
	one := func(side string) netip.AddrPort {
		a, err := netip.ParseAddr(meta.Lookup(metadata.Path{"IP", side + "_addr"}).Text)
		if err != nil {
			return netip.AddrPort{}
		}
		for _, protocol := range []string{"TCP", "UDP"} {
			if v := meta.Lookup(metadata.Path{protocol, side + "_port"}); v.Kind == metadata.Number {
				return netip.AddrPortFrom(a, uint16(v.Num))
			}
		}
		return netip.AddrPort{}
	}
	if meta == nil {
		return from, at
	}
	return one("src"), one("dst")
}
