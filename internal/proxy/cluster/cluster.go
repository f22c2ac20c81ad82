package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/h2"
	"anymesh.dev/anymesh/internal/proxy/metadata"
)

// ErrNoEndpoint is the error of a choice among no endpoints.
var ErrNoEndpoint = errors.New("no healthy upstream: the cluster has no endpoint")

// Cluster is a service with endpoints. Its methods may be called concurrently, but changes must not overlap.
type Cluster struct {
	Name string
	Spec config.ClusterSpec
	// Auto tells that the name is generated.
	Auto         bool
	LoadBalancer config.LoadBalancer
	HealthCheck  *config.HealthCheck
	Outlier      *config.Outlier
	Limits       config.Limits
	EachAddress  bool
	// Resolve returns the addresses of a host name. Default: those of the resolver of the system.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Stop ends the health checks and the resolution of names.
	Stop context.CancelFunc
	*Stats

	// begun is closed when each endpoint has been resolved and checked once; nil if they need neither.
	begun        chan struct{}
	first        sync.Once
	resolvedOnce atomic.Bool

	key     metadata.Path
	current atomic.Pointer[choice]

	mu      sync.Mutex // guards changes of endpoints and of their state
	check   Check
	running context.Context // of checks and resolutions; nil before Start
	watched map[*Endpoint]context.CancelFunc
}

// Stats counts what goes to a cluster.
type Stats struct {
	// Sessions counts the sessions or requests that were sent to the cluster, Failed those that got no connection.
	Sessions, Failed atomic.Uint64
	// Active counts the requests and sessions now, Retrying the further attempts.
	Active, Retrying atomic.Int64
	// Overflows counts what exceeded the limits, Ejections the endpoints that were ejected.
	Overflows, Ejections atomic.Uint64
	// Passed and NotPassed count the health checks.
	Passed, NotPassed atomic.Uint64
	// Sent and Received count the data of sessions; that of HTTP requests is not counted.
	Sent, Received Traffic
	// Shared is what the sessions of a pseudo cluster share.
	Shared sync.Map

	connections gate
}

// Traffic counts data.
type Traffic struct{ Bytes, Pieces atomic.Uint64 }

// choice are the endpoints and what a balancer made of them.
type choice struct {
	configured []*Endpoint
	endpoints  []*Endpoint // with the addresses of host names
	balancer
}

// balancer chooses an endpoint that was not tried; nil if there is none.
type balancer interface {
	pick(hash uint64, tried []*Endpoint) *Endpoint
}

// Endpoint is one address of a cluster.
type Endpoint struct {
	Name string
	Spec config.EndpointSpec
	// Auto tells that the name is generated.
	Auto   bool
	Weight int
	// Address is host:port, or the path of a unix socket.
	Address string
	// Streams are the HTTP/2 connections to the endpoint.
	Streams h2.Pool
	// Active counts the sessions or requests that use the endpoint now.
	Active atomic.Int64

	owner  atomic.Pointer[Cluster]
	health health
	mu     sync.Mutex
	idle   []io.Closer
	closed bool
	// addresses are the endpoints of the addresses of a host name.
	addresses atomic.Pointer[[]*Endpoint]
}

// New returns a cluster without endpoints.
func New(name string, auto bool, c *config.Cluster) *Cluster {
	out := &Cluster{
		Name: name, Spec: c.Spec, Auto: auto, LoadBalancer: c.LoadBalancer, key: metadata.ParsePath(c.LoadBalancer.Key),
		HealthCheck: c.HealthCheck, Outlier: c.Outlier, Limits: c.Limits, EachAddress: c.EachAddress,
		Stop: func() {}, Stats: new(Stats),
	}
	if out.HealthCheck != nil || out.EachAddress {
		out.begun = make(chan struct{})
	}
	out.current.Store(&choice{balancer: list(nil)})
	return out
}

// Endpoints returns the endpoints, as configured.
func (c *Cluster) Endpoints() []*Endpoint { return c.current.Load().configured }

// Targets returns the endpoints that are chosen from: with EachAddress, those of the addresses of names.
func (c *Cluster) Targets() []*Endpoint { return c.current.Load().endpoints }

// Has reports whether an endpoint has an address.
func (c *Cluster) Has(address string) bool {
	at := func(e *Endpoint) bool { return e.Address == address }
	return slices.ContainsFunc(c.Endpoints(), at) || slices.ContainsFunc(c.Targets(), at)
}

// SetEndpoints replaces the endpoints.
func (c *Cluster) SetEndpoints(all []*Endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rebuild(all)
	c.watch()
}

// Retry counts a further attempt, unless that would exceed the limit. EndRetry ends it.
func (c *Cluster) Retry() bool {
	if n := c.Retrying.Add(1); c.Limits.Retries > 0 && n > int64(c.Limits.Retries) {
		c.Retrying.Add(-1)
		c.Overflows.Add(1)
		return false
	}
	return true
}

// EndRetry ends what Retry has counted.
func (c *Cluster) EndRetry() { c.Retrying.Add(-1) }

// Pick chooses an endpoint for a session. It prefers endpoints that were not tried before.
func (c *Cluster) Pick(d metadata.Document, tried []*Endpoint) (*Endpoint, error) {
	if c.Spec.To != "" {
		return c.dynamic(d)
	}
	c.wait()
	now := c.current.Load()
	if len(now.endpoints) == 0 {
		return nil, fmt.Errorf("cluster %q: %w", c.Name, ErrNoEndpoint)
	}
	var hash uint64
	if _, hashes := now.balancer.(hasher); hashes {
		hash = c.hash(d)
	}
	e := now.pick(hash, tried)
	if e == nil {
		e = now.pick(hash, nil)
	}
	if e == nil {
		return nil, fmt.Errorf("cluster %q: all endpoints have the weight 0: %w", c.Name, ErrNoEndpoint)
	}
	return e, nil
}

// Untried reports whether there is an endpoint that was not tried.
func (c *Cluster) Untried(tried []*Endpoint) bool {
	return slices.ContainsFunc(c.Targets(), func(e *Endpoint) bool { return !slices.Contains(tried, e) })
}

// hash returns the hash of the session's value at the key; a random one if there is none.
func (c *Cluster) hash(d metadata.Document) uint64 {
	if len(c.key) == 0 {
		return rand.Uint64()
	}
	v := d.Lookup(c.key)
	if v.Kind == metadata.Undefined {
		return rand.Uint64()
	}
	var space [64]byte
	return hashOf(v.Append(space[:0]))
}

// hashOf is FNV-1a with the final mix of MurmurHash3, because it must be the same in all proxies.
func hashOf(text []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range text {
		h = (h ^ uint64(b)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// Take returns an idle connection that Put kept; nil if there is none.
func (e *Endpoint) Take() io.Closer {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := len(e.idle) - 1
	if last < 0 {
		return nil
	}
	c := e.idle[last]
	e.idle[last] = nil
	e.idle = e.idle[:last]
	return c
}

// maxIdle limits the idle connections of an endpoint.
const maxIdle = 1024

// Put keeps an idle connection for the next request. It closes the connection if the endpoint has enough, or was
// removed.
func (e *Endpoint) Put(c io.Closer) {
	e.mu.Lock()
	full := e.closed || len(e.idle) >= maxIdle
	if !full {
		e.idle = append(e.idle, c)
	}
	e.mu.Unlock()
	if full {
		_ = c.Close() // an idle connection
	}
}

// Close closes the idle connections of an endpoint that is removed.
func (e *Endpoint) Close() {
	e.mu.Lock()
	all := e.idle
	e.idle, e.closed = nil, true
	e.mu.Unlock()
	for _, one := range e.resolved() {
		one.Close()
	}
	for _, c := range all {
		_ = c.Close() // an idle connection
	}
	e.Streams.Close()
}

// Expire closes idle connections for which the function returns true.
func (e *Endpoint) Expire(expired func(io.Closer) bool) {
	var out []io.Closer
	e.mu.Lock()
	e.idle = slices.DeleteFunc(e.idle, func(c io.Closer) bool {
		if !expired(c) {
			return false
		}
		out = append(out, c)
		return true
	})
	e.mu.Unlock()
	for _, c := range out {
		_ = c.Close() // an idle connection
	}
}
