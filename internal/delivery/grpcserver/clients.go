package grpcserver

import (
	"crypto/sha256"
	"net"
	"sync"
)

// clients tracks what each client uses. A client is a certificate, or without TLS an address.
type clients struct {
	mu         sync.Mutex
	byKey      map[string]*client
	unfinished int // bytes of all clients
	reserved   int // of these, bytes that are reserved for long messages
	// waiting are the streams whose long messages wait for a reservation, in the order of their requests.
	waiting []*Stream
}

// client is guarded by the lock of clients.
type client struct {
	conns      map[*conn]struct{}
	unfinished int // bytes of unfinished messages
	reserved   int // of these, bytes that are reserved for long messages
}

func clientKey(c *conn) string {
	if c.tls != nil {
		if certs := c.tls.ConnectionState().PeerCertificates; len(certs) > 0 {
			sum := sha256.Sum256(certs[0].Raw)
			return string(sum[:])
		}
	}
	host, _, err := net.SplitHostPort(c.raw.RemoteAddr().String())
	if err != nil {
		return c.raw.RemoteAddr().String()
	}
	return host
}

// addConn adds a connection after its handshake, and reports false if its client has too many.
func (s *server) addConn(c *conn) bool {
	key := clientKey(c)
	s.clients.mu.Lock()
	defer s.clients.mu.Unlock()
	one := s.clients.byKey[key]
	if one == nil {
		one = &client{conns: map[*conn]struct{}{}}
		s.clients.byKey[key] = one
	}
	if most := s.MaxConnectionsPerClient; most > 0 && len(one.conns) >= most {
		return false
	}
	one.conns[c] = struct{}{}
	c.client, c.clientKey = one, key
	return true
}

func (s *server) removeConn(c *conn) {
	s.clients.mu.Lock()
	defer s.clients.mu.Unlock()
	if c.client == nil {
		return
	}
	delete(c.client.conns, c)
	s.clients.forgetIfUnused(c)
}

// forgetIfUnused removes the client of a connection when nothing of it is left. It requires the lock.
func (s *clients) forgetIfUnused(c *conn) {
	if len(c.client.conns) == 0 && c.client.unfinished == 0 && s.byKey[c.clientKey] == c.client {
		delete(s.byKey, c.clientKey)
	}
}

// charge adds bytes of unfinished messages to the client of a connection, or subtracts them. It adds none and reports
// false if the client would have too many. If all clients together have too many, the client with the most loses the
// connections that have such bytes.
func (s *server) charge(c *conn, n int) bool {
	if n == 0 || c.client == nil {
		return true
	}
	s.clients.mu.Lock()
	ok := s.mayCharge(c, n)
	var cut []*conn
	if ok {
		cut = s.chargeLocked(c, n)
	}
	granted := s.grantLocked()
	s.clients.mu.Unlock()
	s.settle(ok, cut, granted)
	return ok
}

// mayCharge reports whether the client of a connection may have so many more bytes. It requires the lock of clients.
func (s *server) mayCharge(c *conn, n int) bool {
	most := s.MaxUnfinishedPerClient
	return n <= 0 || most == 0 || c.client.unfinished+n <= most
}

// chargeLocked returns the connections to close: there are too many bytes. It requires the lock of clients.
func (s *server) chargeLocked(c *conn, n int) (cut []*conn) {
	c.unfinished += n
	c.client.unfinished += n
	s.clients.unfinished += n
	if s.UnfinishedBytes != nil {
		s.UnfinishedBytes.Store(int64(s.clients.unfinished))
	}
	if n > 0 && s.MaxUnfinished > 0 && s.clients.unfinished > s.MaxUnfinished {
		cut = s.clients.largest()
	}
	s.clients.forgetIfUnused(c)
	return cut
}

// settle reports what a charge has led to, after the lock of clients is released.
func (s *server) settle(ok bool, cut []*conn, granted []*Stream) {
	if !ok {
		s.OnRefused(RefusedUnfinished)
	}
	for _, one := range cut {
		_ = one.raw.Close() // the reader notices it
		s.OnRefused(RefusedUnfinished)
	}
	for _, one := range granted {
		s.wg.Go(one.openWindow)
	}
}

// largest returns the connections with unfinished messages of the client with the most bytes beside reservations, which
// end by themselves. Its other connections may be those of a sidecar whose certificate was stolen. It requires the
// lock.
func (s *clients) largest() (conns []*conn) {
	var most *client
	for _, one := range s.byKey {
		if most == nil || one.unfinished-one.reserved > most.unfinished-most.reserved {
			most = one
		}
	}
	for c := range most.conns {
		if c.unfinished > 0 {
			conns = append(conns, c)
		}
	}
	return conns
}
