package xds

import (
	"crypto/x509"
	"time"

	"anymesh.dev/anymesh/internal/delivery/grpcserver"
)

// Peer is the remote side of a connection.
type Peer struct {
	// Chain is the verified certificate chain of the client, leaf first. It is nil without mutual TLS.
	Chain []*x509.Certificate
	// Address is the remote address of the connection. It is not authenticated.
	Address string
}

func peerOf(s *grpcserver.Stream) Peer {
	p := Peer{Address: s.Conn().RemoteAddr().String()}
	if state := s.TLS(); state != nil && len(state.VerifiedChains) > 0 {
		p.Chain = state.VerifiedChains[0]
	}
	return p
}

// certExpiry returns the earliest NotAfter of the chain, or the zero time without a certificate.
func (p Peer) certExpiry() time.Time {
	var first time.Time
	for _, c := range p.Chain {
		if first.IsZero() || c.NotAfter.Before(first) {
			first = c.NotAfter
		}
	}
	return first
}
