package xds

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
)

// Peer is who is at the other end of a connection.
type Peer struct {
	// Chain is the client's verified certificate chain, leaf first; nil without
	// mutual TLS.
	Chain []*x509.Certificate
	// Address is where the connection comes from. It proves nothing.
	Address string
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

// connCredentials keep the connection within reach. gRPC offers no way to get
// rid of a client that does not read: the end of a stream waits behind the data
// it does not take. Closing its connection does it.
type connCredentials struct {
	credentials.TransportCredentials
}

type connInfo struct {
	credentials.AuthInfo
	conn net.Conn
}

func serverCredentials(config *tls.Config) credentials.TransportCredentials {
	if config == nil {
		return connCredentials{insecure.NewCredentials()}
	}
	return connCredentials{credentials.NewTLS(config)}
}

func (c connCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	return conn, connInfo{AuthInfo: info, conn: raw}, nil
}

func (c connCredentials) Clone() credentials.TransportCredentials {
	return connCredentials{c.TransportCredentials.Clone()}
}

// peerOf returns the peer of a stream, and what closes its connection.
func peerOf(ctx context.Context) (Peer, func()) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return Peer{}, func() {}
	}
	out := Peer{Address: p.Addr.String()}
	info, ok := p.AuthInfo.(connInfo)
	if !ok {
		return out, func() {}
	}
	if t, ok := info.AuthInfo.(credentials.TLSInfo); ok && len(t.State.VerifiedChains) > 0 {
		out.Chain = t.State.VerifiedChains[0]
	}
	return out, func() { _ = info.conn.Close() } // the connection is lost either way
}
