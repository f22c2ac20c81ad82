package xds

import (
	"crypto/x509"
	"time"

	"anymesh.dev/anymesh/internal/delivery/grpcserver"
)

// Peer is who is at the other end of a connection.
type Peer struct {
	// Chain is the client's verified certificate chain, leaf first; nil without
	// mutual TLS.
	Chain []*x509.Certificate
	// Address is where the connection comes from. It proves nothing.
	Address string
}

func peerOf(s *grpcserver.Stream) Peer {
	p := Peer{Address: s.Conn().RemoteAddr().String()}
	if state := s.TLS(); state != nil && len(state.VerifiedChains) > 0 {
		p.Chain = state.VerifiedChains[0]
	}
	return p
}

// expires is when the first certificate of the chain does; zero without one.
func (p Peer) expires() time.Time {
	var first time.Time
	for _, c := range p.Chain {
		if first.IsZero() || c.NotAfter.Before(first) {
			first = c.NotAfter
		}
	}
	return first
}
