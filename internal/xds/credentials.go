package xds

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync"
	"sync/atomic"
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

// newCredentials are those of the server: mutual TLS, or nothing.
func newCredentials(config *tls.Config, connections int, m *metrics) credentials.TransportCredentials {
	inner := insecure.NewCredentials()
	if config != nil {
		config = config.Clone()
		// Every connection proves who it is anew, and holds no key of a session that it could resume.
		config.SessionTicketsDisabled = true
		// The first hundred records would be small and written one by one, for browsers that cannot wait; a sidecar needs all of a response.
		config.DynamicRecordSizingDisabled = true
		inner = credentials.NewTLS(config)
	}
	return connCredentials{inner, &doorkeeper{room: int64(connections), tls: config != nil, metrics: m}}
}

// connCredentials keep the connection within reach. gRPC offers no way to get
// rid of a client that does not read: the end of a stream waits behind the data
// it does not take. Closing its connection does it.
type connCredentials struct {
	credentials.TransportCredentials
	door *doorkeeper
}

// doorkeeper counts connections.
type doorkeeper struct {
	room    int64
	tls     bool
	open    atomic.Int64
	metrics *metrics
}

var errFull = errors.New("too many connections")

// countedConn is a connection that says when it is closed.
type countedConn struct {
	net.Conn
	once sync.Once
	door *doorkeeper
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.once.Do(func() { c.door.open.Add(-1) })
	return c.Conn.Close()
}

type connInfo struct {
	credentials.AuthInfo
	conn net.Conn
}

func (i connInfo) close() {
	if i.conn != nil {
		_ = i.conn.Close() // it is lost either way
	}
}

func (c connCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	counted := &countedConn{Conn: raw, door: c.door}
	if c.door.open.Add(1) > c.door.room {
		_ = counted.Close()
		c.door.metrics.refused.WithLabelValues(reasonFull).Inc()
		return nil, nil, errFull
	}
	var below net.Conn = counted
	if c.door.tls {
		below = &recordConn{Conn: counted}
	}
	conn, info, err := c.TransportCredentials.ServerHandshake(below)
	if err != nil {
		_ = counted.Close()
		c.door.metrics.refused.WithLabelValues(reasonHandshake).Inc()
		return nil, nil, err
	}
	return conn, connInfo{AuthInfo: info, conn: counted}, nil
}

func (c connCredentials) Clone() credentials.TransportCredentials {
	return connCredentials{c.TransportCredentials.Clone(), c.door}
}

// peerOf returns the peer of a stream, and its connection.
func peerOf(ctx context.Context) (Peer, connInfo) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return Peer{}, connInfo{}
	}
	out := Peer{Address: p.Addr.String()}
	info, ok := p.AuthInfo.(connInfo)
	if !ok {
		return out, connInfo{}
	}
	if t, ok := info.AuthInfo.(credentials.TLSInfo); ok && len(t.State.VerifiedChains) > 0 {
		out.Chain = t.State.VerifiedChains[0]
	}
	return out, info
}
