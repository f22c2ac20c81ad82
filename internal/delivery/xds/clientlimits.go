package xds

import (
	"net"
	"sync"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
)

// clientLimits limits the open streams and connections of each identity, and the rate of new streams.
type clientLimits struct {
	opts *Options

	mu         sync.Mutex
	byIdentity map[string]*clientUsage
	keptIdle   int // number of identities after the last removeIdle
}

type clientUsage struct {
	streams     int
	connections map[net.Conn]int // streams per connection
	rate        *rate.Limiter
}

// idle reports whether the entry can be removed: no stream is open and the rate limiter is full.
func (v *clientUsage) idle(burst int) bool {
	return v.streams == 0 && v.rate.Tokens() >= float64(burst)
}

// acquire registers a stream of an identity. It fails when a limit is exceeded.
func (v *clientLimits) acquire(identity string, conn net.Conn) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	one := v.byIdentity[identity]
	if one == nil {
		v.removeIdle()
		one = &clientUsage{
			connections: map[net.Conn]int{},
			rate:        rate.NewLimiter(rate.Limit(float64(v.opts.MaxStreamsPerMinute)/60), v.opts.MaxStreamBurst),
		}
		v.byIdentity[identity] = one
	}
	switch {
	case !one.rate.Allow():
		return refuse(reasonStreamRate, codes.ResourceExhausted, "%s opens more than %d streams each minute", identity,
			v.opts.MaxStreamsPerMinute)
	case one.streams >= v.opts.MaxStreamsPerIdentity:
		return refuse(reasonStreamsPerIdentity, codes.ResourceExhausted, "more than %d streams of %s",
			v.opts.MaxStreamsPerIdentity, identity)
	case one.connections[conn] == 0 && len(one.connections) >= v.opts.MaxConnectionsPerIdentity:
		return refuse(reasonConnectionsPerIdentity, codes.ResourceExhausted,
			"streams on more than %d connections of %s", v.opts.MaxConnectionsPerIdentity, identity)
	}
	one.streams++
	one.connections[conn]++
	return nil
}

func (v *clientLimits) release(identity string, conn net.Conn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one := v.byIdentity[identity]
	one.streams--
	if one.connections[conn]--; one.connections[conn] == 0 {
		delete(one.connections, conn)
	}
}

// removeIdle removes idle identities. It runs when the number of identities has doubled, so that its amortized cost
// is constant.
func (v *clientLimits) removeIdle() {
	if len(v.byIdentity) < 2*v.keptIdle+64 {
		return
	}
	for identity, one := range v.byIdentity {
		if one.idle(v.opts.MaxStreamBurst) {
			delete(v.byIdentity, identity)
		}
	}
	v.keptIdle = len(v.byIdentity)
}
