package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"anymesh.dev/anymesh/internal/proxy/bucket"
	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/datagram"
	"anymesh.dev/anymesh/internal/proxy/h2"
	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/internal/proxy/httpforward"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/object"
	"anymesh.dev/anymesh/internal/proxy/proxyprotocol"
	"anymesh.dev/anymesh/internal/proxy/session"
	"anymesh.dev/anymesh/internal/proxy/stream"
	"anymesh.dev/anymesh/internal/proxy/tlsfile"
)

// listener is a socket whose connections become sessions.
type listener struct {
	proxy  *Proxy
	mu     sync.Mutex
	spec   config.Listener // guarded by mu; the spec in it does not change
	rules  atomic.Pointer[object.Slot[object.RuleList]]
	ctx    context.Context // ends with the listener
	cancel context.CancelFunc
	begun  chan struct{} // closed when its rules are there: it accepts nothing before
	// closeSocket accepts nothing more, and frees the address for other listeners of the proxy.
	closeSocket func()
	// accepted counts sessions and requests.
	accepted atomic.Uint64
	track    atomic.Int64 // seconds that ended requests are listed
	rate     atomic.Pointer[bucket.Bucket]
	http     *httpforward.Server // of an HTTP listener
	udp      *datagram.Listener  // of a listener on UDP
	streams  h2.Server           // of a WebSocket listener
}

// listen binds the socket and starts to accept.
func (l *listener) listen() error {
	if l.spec.Spec.Protocol != config.HTTP {
		return l.accept(&l.spec.Spec, l.run)
	}
	l.http = &httpforward.Server{
		Rules: l.rules.Load, Handler: l, Dialer: l.proxy.connect, Limits: http1.DefaultLimits,
		Canonical: l.spec.Spec.Canonical, Forwarded: l.spec.Spec.Forwarded, TrustedHops: l.spec.Spec.TrustedHops,
		RouteStats: l.proxy.routeStats,
		Timeouts:   httpforward.DefaultTimeouts, Done: l.ctx.Done(), HTTP2: http2On(&l.spec.Spec), Ended: l.ended,
		Name: l.spec.Name, Tracer: l.proxy.tracer.Load,
		Streams: h2.Server{Limits: h2.DefaultLimits},
	}
	err := l.acceptTCP(&l.spec.Spec, func(nc net.Conn, meta map[string]any) { l.http.Serve(nc, meta) })
	if err != nil {
		return err
	}
	l.proxy.running.Go(func() { l.http.Run(l.ctx) })
	return nil
}

// begin makes the listener accept.
func (l *listener) begin() { close(l.begun) }

// onBegin runs a function in the background when the listener accepts.
func (l *listener) onBegin(run func()) {
	l.proxy.running.Go(func() {
		select {
		case <-l.begun:
			run()
		case <-l.ctx.Done():
		}
	})
}

// http2On reports whether an HTTP or WebSocket listener serves HTTP/2.
func http2On(spec *config.ListenerSpec) bool { return spec.HTTP2 == nil || *spec.HTTP2 }

// stop accepts nothing more. HTTP connections end after their requests. Peers over UDP are served until their sessions
// end, or go on with the next listener on the address. Sessions of unix datagram sockets end with them.
func (l *listener) stop() {
	l.closeSocket()
	if l.http != nil {
		l.http.Drain()
	}
	l.streams.Drain()
}

// retire asks clients to leave.
func (l *listener) retire() {
	if l.http != nil {
		l.http.Retire()
	}
	l.streams.Retire()
}

// accept accepts what becomes sessions, in any protocol but HTTP.
func (l *listener) accept(spec *config.ListenerSpec, handle func(session.Source)) error {
	switch spec.Protocol {
	case config.UDP:
		return l.acceptUDP(spec, handle)
	case config.UnixDomainSocket:
		return l.acceptUnix(spec, handle)
	case config.Stdio:
		return l.acceptStdio(handle)
	case config.JSONSocket:
		return l.accept(spec.Transport, func(s session.Source) { l.jsonSocket(s, handle) })
	case config.WebSocket:
		return l.acceptTCP(spec, func(nc net.Conn, meta map[string]any) { l.webSocket(nc, meta, handle) })
	}
	return l.acceptTCP(spec, func(nc net.Conn, meta map[string]any) {
		if spec.SNI {
			var name string
			name, nc = serverName(nc)
			meta["TLS"] = map[string]any{"sni": name}
		}
		handle(session.Source{
			Name: sessionName("TCP", nc.RemoteAddr(), nc.LocalAddr()), Stream: stream.Conn{Conn: nc}, Meta: &metadata.Tree{Root: meta},
		})
	})
}

// address returns the address to listen on.
func (l *listener) address(spec *config.ListenerSpec) string {
	host := spec.Address
	if host == "" && l.onlyController() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(spec.Port))
}

// acceptTCP accepts TCP connections, and those with TLS if the spec has it.
func (l *listener) acceptTCP(spec *config.ListenerSpec, serve func(net.Conn, map[string]any)) error {
	if spec.TLS == nil {
		return l.listenTCP(spec, func(nc net.Conn, h proxyprotocol.Header) {
			serve(nc, addressed(connMetadata("TCP", nc), h))
		})
	}
	var protocols []string
	if spec.Protocol != config.TCP && http2On(spec) {
		protocols = h2.Protocols
	}
	c, err := tlsfile.Server(spec.TLS, protocols)
	if err != nil {
		return err
	}
	return l.listenTCP(spec, func(nc net.Conn, h proxyprotocol.Header) {
		plain := spec.TLS.Permissive || tlsfile.Excepts(spec.TLS, nc.RemoteAddr(), true, "")
		if plain && !beginsTLS(nc, spec.Protocol) {
			serve(nc, addressed(connMetadata("TCP", nc), h))
			return
		}
		ctx, cancel := context.WithTimeout(l.ctx, handshakeTimeout)
		defer cancel()
		secure := tls.Server(nc, c)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = nc.Close() // the client has no TLS, or not the right one
			return
		}
		serve(secure, addressed(tlsMetadata(secure), h))
	})
}

// listenTCP accepts TCP connections, with the addresses that differ from those of the socket.
func (l *listener) listenTCP(spec *config.ListenerSpec, take func(net.Conn, proxyprotocol.Header)) error {
	serve := func(nc net.Conn, h proxyprotocol.Header) {
		if !l.rate.Load().Take(time.Now()) {
			_ = nc.Close() // there are too many
			return
		}
		take(nc, h)
	}
	if spec.Captured != nil {
		return l.proxy.captures.listen(l, spec, serve)
	}
	return l.listenStream("tcp", l.address(spec), func(nc net.Conn) {
		if h, ok := readProxyHeader(spec, nc); ok {
			serve(nc, h)
		}
	})
}

// handshakeTimeout limits handshakes of clients.
const handshakeTimeout = 10 * time.Second

// listenStream accepts connections.
func (l *listener) listenStream(network, address string, serve func(net.Conn)) error {
	socket, err := (&net.ListenConfig{}).Listen(l.ctx, network, address)
	if err != nil {
		return err
	}
	name := l.spec.Name
	l.closeSocket = func() { _ = socket.Close() } // interrupts Accept
	context.AfterFunc(l.ctx, l.closeSocket)
	l.onBegin(func() {
		for {
			nc, err := socket.Accept()
			if err != nil {
				if errors.Is(err, net.ErrClosed) {
					return
				}
				l.proxy.log.Warn("accepting a connection failed", "listener", name, "error", err)
				time.Sleep(acceptPause)
				continue
			}
			l.proxy.running.Go(func() { serve(nc) })
		}
	})
	return nil
}

// acceptPause is the time after a failed accept, which usually lacks file descriptors.
const acceptPause = 10 * time.Millisecond

// run runs a session of the listener.
func (l *listener) run(s session.Source) {
	l.accepted.Add(1)
	spec := l.current()
	s.Listener, s.Spec, s.Track = spec.Name, &spec.Spec, time.Duration(spec.Options.Track)*time.Second
	if s.Route == nil {
		s.Rules = l.rules.Load
	}
	l.proxy.sessions.Run(l.proxy.ctx, s)
}

// Serve implements httpforward.Handler.
func (l *listener) Serve(
	x *httpforward.Exchange, route *object.Route, to *object.Slot[cluster.Cluster], meta *metadata.Tree,
) {
	if c := to.Get(); c != nil && internal(c.Spec.Protocol) {
		if len(route.Ingress)+len(route.Egress) > 0 {
			x.Fail(500, fmt.Sprintf("route %q: cluster %q has no streams for ingress and egress", route.Name, c.Name))
			return
		}
		c.Sessions.Add(1)
		l.proxy.serveInternal(x, c)
		return
	}
	l.run(session.Source{
		Name:   fmt.Sprintf("%s-%d", sessionName("HTTP", x.RemoteAddr(), x.LocalAddr()), l.accepted.Load()),
		Stream: x, Meta: meta, Route: route, Destination: to, Fail: x.Fail,
	})
}

// internal reports whether the proxy itself answers requests to a cluster.
func internal(p config.Protocol) bool { return p == config.Controller || p == config.Prometheus }
