package proxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"syscall"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/datagram"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/session"
)

// acceptUDP accepts peers. A listener with the same address that is stopped gives it its socket and its sessions.
func (l *listener) acceptUDP(spec *config.ListenerSpec, handle func(session.Source)) error {
	terms := &datagram.Terms{Only: spec.Connect.Addr(), Idle: config.UDPIdle}
	if o := spec.Options; o != nil && o.IdleTimeout != nil {
		terms.Idle = time.Duration(*o.IdleTimeout) * time.Millisecond
	}
	singleton := terms.Only.Addr().IsValid() && terms.Only.Port() != 0
	if o := spec.Options; o != nil && o.Mode == "server" {
		singleton = false
	} else if o != nil && o.Mode == "singleton" && !singleton {
		return errors.New("spec.connect: mode singleton needs address and port")
	}
	if singleton {
		terms.Idle = 0
	}
	address := l.address(spec)
	u, err := l.proxy.stopped.take(l.ctx, address, terms)
	if err != nil {
		return err
	}
	terms.Accept = func(peer *datagram.Peer) {
		l.proxy.running.Go(func() {
			handle(session.Source{
				Name: fmt.Sprintf("UDP:%s-%s", peer.Addr(), plain(u.Addr())), Stream: peer,
				Meta: &metadata.Tree{Root: pairMetadata("UDP", peer.Addr(), plain(u.Addr()))},
			})
		})
	}
	l.udp = u
	l.closeSocket = func() {
		if u.Stop(terms, config.UDPIdle) {
			l.proxy.stopped.add(address, u)
		}
	}
	context.AfterFunc(l.ctx, func() { u.Close(terms) })
	l.onBegin(func() {
		u.Begin(terms)
		if singleton {
			if peer, isNew := u.Open(terms.Only); isNew {
				terms.Accept(peer)
			}
		}
		u.Serve()
	})
	return nil
}

// stoppedUDP are the listeners on UDP that serve only the sessions that they have, by their addresses. It is guarded by
// the lock of the proxy.
type stoppedUDP map[string]*datagram.Listener

// add adds a listener, and removes those that have closed.
func (s stoppedUDP) add(address string, u *datagram.Listener) {
	maps.DeleteFunc(s, func(_ string, one *datagram.Listener) bool { return one.Closed() })
	s[address] = u
}

// take returns the stopped listener with an address, or a new one. Sessions on the port of another address end if it
// needs the port.
func (s stoppedUDP) take(ctx context.Context, address string, terms *datagram.Terms) (*datagram.Listener, error) {
	u := s[address]
	delete(s, address)
	if u != nil && u.Take(terms) {
		return u, nil
	}
	u = &datagram.Listener{}
	err := u.Listen(ctx, address, terms)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return u, err
	}
	_, port, _ := net.SplitHostPort(address) // Listen has read it
	for other, old := range s {
		if strings.HasSuffix(other, ":"+port) {
			old.Abandon()
			delete(s, other)
		}
	}
	return u, u.Listen(ctx, address, terms)
}
