package httpforward

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/http1"
)

// info is what is known of the current request of a connection, for the list of sessions and for Ended.
type info struct {
	mu                sync.Mutex
	head              []byte // a copy; empty without a request, and for requests that are sessions
	number            uint64
	begun             time.Time
	cluster, endpoint string
	retries           atomic.Int32
	received, sent    atomic.Int64 // bytes of bodies

	// What only Ended gets: the address of the endpoint, why there is no response of an endpoint, whether the request has
	// a head for the endpoint, and the head of the response.
	address, flags string
	written        bool
	reply          []byte
}

// begin notes a request.
func (i *info) begin(head []byte, now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.head = append(i.head[:0], head...)
	i.number++
	i.begun, i.cluster, i.endpoint = now, "", ""
	i.address, i.flags, i.written, i.reply = "", "", false, i.reply[:0]
	i.retries.Store(0)
	i.received.Store(0)
	i.sent.Store(0)
}

// to notes where the request is sent.
func (i *info) to(c *cluster.Cluster, e *cluster.Endpoint) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cluster, i.endpoint, i.address = c.Name, e.Name, e.Address
	i.reply = i.reply[:0]
}

// forget ends the request.
func (i *info) forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.head = i.head[:0]
}

// Request is a request that is served now, or that has ended.
type Request struct {
	// Client and Local are the addresses of the connection, Number counts its requests.
	Client, Local net.Addr
	Number        uint64
	Begun         time.Time
	Took          time.Duration
	// Metadata are those of the request before rewrites.
	Metadata             map[string]any
	Method, Host, Target string
	Status               int
	Cluster, Endpoint    string
	Retries              int
	Received, Sent       int64
	// Trace is the ID of the trace; empty without one. Requests that are served now have none, nor what follows.
	Trace string
	// Address is that of the endpoint, and Version the version of HTTP, as HTTP/1.1.
	Address, Version string
	// Flags tell why there is no response of an endpoint, with the names of Envoy's response flags.
	Flags string
	// SentField returns a field, or a pseudo-header, of the request for the endpoint; that of the client if none was
	// asked. ReplyField returns a field of the endpoint's response.
	SentField, ReplyField func(name string) (string, bool)
	// Interrupt ends the request with its connection.
	Interrupt func()
}

// describe returns the current request; nil without one.
func (c *conn) describe(now time.Time) *Request {
	if c.mirror != nil {
		return nil
	}
	c.info.mu.Lock()
	defer c.info.mu.Unlock()
	i := &c.info
	r := http1.Request{Canonical: c.s.Canonical}
	size, err := r.Parse(i.head, 0, http1.Limits{Head: 1 << 20, Fields: 1000})
	if size == 0 || err != nil {
		return nil // there is no request
	}
	out := &Request{
		Client: c.client.RemoteAddr(), Local: c.client.LocalAddr(), Number: i.number, Begun: i.begun, Took: now.Sub(i.begun),
		Method: string(r.Method), Host: string(r.Host), Target: string(r.Target), Cluster: i.cluster, Endpoint: i.endpoint,
		Retries: int(i.retries.Load()), Received: i.received.Load(), Sent: i.sent.Load(), Interrupt: c.interrupt,
	}
	out.Metadata = map[string]any{"HTTP": Metadata(&r)}
	for key, value := range c.base {
		out.Metadata[key] = value
	}
	return out
}

// Requests returns the requests that are served now and that are no sessions.
func (s *Server) Requests() []*Request {
	var all []*Request
	now := time.Now()
	s.each(func(c *conn) {
		if r := c.describe(now); r != nil {
			all = append(all, r)
		}
	})
	return all
}
