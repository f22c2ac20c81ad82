package proxy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/datagram"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/session"
)

// acceptUDP accepts peers.
func (l *listener) acceptUDP(spec *config.ListenerSpec, handle func(session.Source)) error {
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
	if err := u.Listen(l.ctx, l.address(spec)); err != nil {
		return err
	}
	u.Accept = func(peer *datagram.Peer) {
		l.proxy.running.Go(func() {
			handle(session.Source{
				Name: fmt.Sprintf("UDP:%s-%s", peer.Addr(), plain(u.Addr())), Stream: peer,
				Meta: &metadata.Tree{Root: pairMetadata("UDP", peer.Addr(), plain(u.Addr()))},
			})
		})
	}
	l.closeSocket, l.udp = u.Close, u
	context.AfterFunc(l.ctx, u.Close)
	l.onBegin(func() {
		if singleton {
			if peer, isNew := u.Open(u.Only); isNew {
				u.Accept(peer)
			}
		}
		u.Serve()
	})
	return nil
}

// udpIdle ends UDP sessions without packets.
const udpIdle = time.Minute
