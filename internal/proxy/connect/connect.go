package connect

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/datagram"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/stream"
)

// Connector connects to endpoints.
type Connector struct{}

// Connect returns a stream to an endpoint.
func (c *Connector) Connect(
	ctx context.Context, to *cluster.Cluster, e *cluster.Endpoint, _ *metadata.Tree,
) (stream.Stream, error) {
	return c.open(ctx, &to.Spec, e)
}

func (c *Connector) open(ctx context.Context, spec *config.ClusterSpec, e *cluster.Endpoint) (stream.Stream, error) {
	switch spec.Protocol {
	case config.TCP:
		nc, err := dial(ctx, spec, "tcp", e.Address)
		if err != nil {
			return nil, err
		}
		return stream.Conn{Conn: nc}, nil
	case config.UDP:
		nc, err := dial(ctx, spec, "udp", e.Address)
		if err != nil {
			return nil, err
		}
		return datagram.Conn{UDPConn: nc.(*net.UDPConn)}, nil
	}
	return nil, fmt.Errorf("protocol %s has no streams", spec.Protocol)
}

// Dial connects to an endpoint of an HTTP cluster.
func (c *Connector) Dial(
	ctx context.Context, to *cluster.Cluster, e *cluster.Endpoint, _ metadata.Document,
) (net.Conn, error) {
	return dial(ctx, &to.Spec, "tcp", e.Address)
}

func dial(ctx context.Context, spec *config.ClusterSpec, network, address string) (net.Conn, error) {
	var d net.Dialer
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
	return d.DialContext(ctx, network, address)
}
