package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/datagram"
	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/internal/proxy/httpforward"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/object"
	"anymesh.dev/anymesh/internal/proxy/session"
	"anymesh.dev/anymesh/internal/proxy/stream"
)

// listener is a socket whose connections become sessions.
type listener struct {
	proxy  *Proxy
	mu     sync.Mutex
	spec   config.Listener // guarded by mu; the spec in it does not change
	rules  atomic.Pointer[object.Slot[object.RuleList]]
	ctx    context.Context // ends with the listener
	cancel context.CancelFunc
	// closeSocket closes the socket at once.
	closeSocket func()
	// accepted counts sessions and requests.
	accepted atomic.Uint64
	http     *httpforward.Server // of an HTTP listener
}

// listen binds the socket and starts to accept.
func (l *listener) listen() error {
	spec := &l.spec.Spec
	host := spec.Address
	if host == "" && l.onlyController() {
		host = "127.0.0.1"
	}
	address := net.JoinHostPort(host, strconv.Itoa(spec.Port))
	switch spec.Protocol {
	case config.UDP:
		return l.listenUDP(address)
	case config.HTTP:
		l.http = &httpforward.Server{
			Rules: l.rules.Load, Handler: l, Dialer: l.proxy.connect, Limits: http1.DefaultLimits,
			Timeouts: httpforward.DefaultTimeouts, Done: l.ctx.Done(),
		}
		if err := l.listenStream("tcp", address, func(nc net.Conn) { l.http.Serve(nc, connMetadata("TCP", nc)) }); err != nil {
			return err
		}
		l.proxy.running.Go(func() { l.http.Run(l.ctx) })
		return nil
	}
	return l.listenStream("tcp", address, func(nc net.Conn) {
		l.run(session.Source{
			Name: sessionName("TCP", nc.RemoteAddr(), nc.LocalAddr()), Stream: stream.Conn{Conn: nc},
			Meta: &metadata.Tree{Root: connMetadata("TCP", nc)},
		})
	})
}

// listenStream accepts connections.
func (l *listener) listenStream(network, address string, serve func(net.Conn)) error {
	socket, err := (&net.ListenConfig{}).Listen(l.ctx, network, address)
	if err != nil {
		return err
	}
	name := l.spec.Name
	l.closeSocket = func() { _ = socket.Close() } // interrupts Accept
	context.AfterFunc(l.ctx, l.closeSocket)
	l.proxy.running.Go(func() {
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
		s.Rules = l.rules.Load()
	}
	l.proxy.sessions.Run(l.proxy.ctx, s)
}

// Serve implements httpforward.Handler.
func (l *listener) Serve(x *httpforward.Exchange, route *object.Route, _ *object.Rule, meta *metadata.Tree) {
	if c := route.Destination.Get(); c != nil && internal(c.Spec.Protocol) {
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
		Stream: x, Meta: meta, Route: route, Fail: x.Fail,
	})
}

// listenUDP accepts peers.
func (l *listener) listenUDP(address string) error {
	spec := &l.spec.Spec
	u := &datagram.Listener{Only: spec.Connect.Addr(), Idle: udpIdle}
	if o := spec.Options; o != nil && o.IdleTimeout != nil {
		u.Idle = time.Duration(*o.IdleTimeout) * time.Millisecond
	}
	singleton := u.Only.Addr().IsValid() && u.Only.Port() != 0
	if o := spec.Options; o != nil && o.Mode == "server" {
		singleton = false
	} else if o != nil && o.Mode == "singleton" && !singleton {
		return errors.New("spec.connect: mode singleton needs address and port")
	}
	if singleton {
		u.Idle = 0
	}
	if err := u.Listen(l.ctx, address); err != nil {
		return err
	}
	u.Accept = func(peer *datagram.Peer) {
		l.proxy.running.Go(func() {
			l.run(session.Source{
				Name: fmt.Sprintf("UDP:%s-%s", peer.Addr(), plain(u.Addr())), Stream: peer,
				Meta: &metadata.Tree{Root: pairMetadata("UDP", peer.Addr(), plain(u.Addr()))},
			})
		})
	}
	l.closeSocket = u.Close
	context.AfterFunc(l.ctx, u.Close)
	if singleton {
		if peer, isNew := u.Open(u.Only); isNew {
			u.Accept(peer)
		}
	}
	l.proxy.running.Go(u.Serve)
	return nil
}

// udpIdle ends UDP sessions without packets.
const udpIdle = time.Minute

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

// internal reports whether the proxy itself answers requests to a cluster.
func internal(p config.Protocol) bool { return p == config.Controller || p == config.Prometheus }
