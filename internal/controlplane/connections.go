package controlplane

import (
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"anymesh.dev/anymesh/internal/connlimit"
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/serverlimit"
)

// Limits of open connections of each HTTP server: signing, webhooks, metrics. Nobody is authenticated before. The node
// of this pod has connections of its own for the probes of kubelet, and API servers have them to the webhooks: a few,
// with many requests each.
const (
	// MaxConnectionsPerSource limits those of one address.
	MaxConnectionsPerSource = 32
	// MaxConnectionsPerSecond limits the average number of new ones of one address, MaxConnectionBurst those beyond it.
	MaxConnectionsPerSecond = 20
	MaxConnectionBurst      = 100
	// MaxConnections limits those of all addresses.
	MaxConnections = 1024
	// MaxNodeConnections limits those of the node of the control plane's pod.
	MaxNodeConnections = 64
	// MaxServerConnections limits those of API servers, and of the node, to the webhooks.
	MaxServerConnections = 256
)

// Limits of a request to each HTTP server.
const (
	// HandshakeTimeout limits the TLS handshake: net/http uses the shortest of the other timeouts. Then the connection is
	// closed.
	HandshakeTimeout = min(ReadHeaderTimeout, ReadTimeout, WriteTimeout)
	// MaxHeaderBytes limits the length of the header. A request with a longer one gets status 431, or its connection is
	// closed.
	MaxHeaderBytes = 32 << 10
	// ReadHeaderTimeout limits the time in which the header arrives, with HTTP/1. Then the connection is closed.
	ReadHeaderTimeout = 10 * time.Second
	// ReadTimeout limits the time in which the body arrives, and with HTTP/1 the header in addition. Then the handler
	// cannot read the rest. The signing endpoint has its own.
	ReadTimeout = 10 * time.Second
	// WriteTimeout limits the time from the header of a request until the client has read the response. Then the
	// connection is closed; with HTTP/2 the stream, or the connection if the client reads nothing at all.
	WriteTimeout = time.Minute
)

// connectionLimits are the limits of open connections that apply to this process.
type connectionLimits struct {
	// discovery is the limit of each discovery server.
	discovery int
	// perSource, total and node are those of each HTTP server, servers is that of API servers.
	perSource, total, node, servers int
}

// fullLimits are the limits with enough file descriptors.
func fullLimits() connectionLimits {
	return connectionLimits{
		discovery: xds.DefaultMaxConnections, perSource: MaxConnectionsPerSource, total: MaxConnections,
		node: MaxNodeConnections, servers: MaxServerConnections,
	}
}

// connections counts the connections of HTTP servers that were refused or failed.
type connections struct {
	limits          connectionLimits
	node            func(netip.Addr) bool
	refused, errors *prometheus.CounterVec
}

func newConnections(limits connectionLimits, registerer prometheus.Registerer) connections {
	c := connections{
		limits: limits,
		node:   connlimit.Node(),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_http_refused_connections_total",
			Help: "Connections to HTTP servers of the control plane, and streams of HTTP/2, that were reset or closed, by server " +
				"and reason: source_connections, source_rate, total_connections, handshake_timeout, header_size, header_timeout, " +
				"slow_client (the response was not read in time), connection_streams, frame_size.",
		}, []string{"server", "reason"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_http_connection_errors_total",
			Help: "Connections to HTTP servers of the control plane that failed, by server: handshakes and requests that are not HTTP.",
		}, []string{"server"}),
	}
	registerer.MustRegister(c.refused, c.errors)
	return c
}

// limit returns the limiter of a server.
func (c connections) limit(server string) *connlimit.Limiter {
	return c.limitExcept(server, c.node, c.limits.node)
}

// limitWebhooks returns the limiter of the webhooks.
func (c connections) limitWebhooks(isServer func(netip.Addr) bool) *connlimit.Limiter {
	return c.limitExcept("webhooks", isServer, c.limits.servers)
}

// limitDriver returns the limiter of a driver that delivers configuration itself. Its agents have as many connections
// to the server of host names.
func (c connections) limitDriver(name string) *connlimit.Limiter {
	own := c
	own.limits.total = c.limits.discovery / 2
	return own.limitExcept(name, c.node, c.limits.node)
}

// limitExcept returns the limiter of a server in which some addresses have a limit of their own.
func (c connections) limitExcept(server string, exempt func(netip.Addr) bool, exemptTotal int) *connlimit.Limiter {
	return connlimit.New(connlimit.Limits{
		PerSource: c.limits.perSource, PerSecond: MaxConnectionsPerSecond, Burst: MaxConnectionBurst,
		Total: c.limits.total, Exempt: exempt, ExemptTotal: exemptTotal,
		OnRefused: func(why connlimit.Reason) { c.refused.WithLabelValues(server, string(why)).Inc() },
	})
}

// observe counts the requests and connections that reach a limit of a server. The listener of the server has to be
// wrapped with the result.
func (c connections) observe(server string, of *http.Server) func(net.Listener) net.Listener {
	return serverlimit.Observe(of, func(why serverlimit.Reason) {
		c.refused.WithLabelValues(server, string(why)).Inc()
	})
}
