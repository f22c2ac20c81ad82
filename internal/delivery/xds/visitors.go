package xds

import (
	"net"
	"sync"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
)

// visitors count what each identity has open, and how often it opened it.
type visitors struct {
	opts *Options

	mu         sync.Mutex
	byIdentity map[string]*visitor
	swept      int // visitors that were left when those who are long gone were last forgotten
}

type visitor struct {
	streams     int
	connections map[net.Conn]int // streams of each
	rate        *rate.Limiter
}

// idle says whether nothing need be remembered of a visitor.
func (v *visitor) idle(burst int) bool { return v.streams == 0 && v.rate.Tokens() >= float64(burst) }

// enter counts a stream of an identity, unless it has too many.
func (v *visitors) enter(identity string, conn net.Conn) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	one := v.byIdentity[identity]
	if one == nil {
		v.sweep()
		one = &visitor{
			connections: map[net.Conn]int{},
			rate:        rate.NewLimiter(rate.Limit(float64(v.opts.StreamsPerMinute)/60), v.opts.StreamBurst),
		}
		v.byIdentity[identity] = one
	}
	switch {
	case !one.rate.Allow():
		return refuse(reasonRate, codes.ResourceExhausted, "%s opens more than %d streams each minute", identity, v.opts.StreamsPerMinute)
	case one.streams >= v.opts.StreamsPerIdentity:
		return refuse(reasonStreams, codes.ResourceExhausted, "more than %d streams of %s", v.opts.StreamsPerIdentity, identity)
	case one.connections[conn] == 0 && len(one.connections) >= v.opts.ConnectionsPerIdentity:
		return refuse(reasonConnections, codes.ResourceExhausted, "streams on more than %d connections of %s", v.opts.ConnectionsPerIdentity, identity)
	}
	one.streams++
	one.connections[conn]++
	return nil
}

func (v *visitors) leave(identity string, conn net.Conn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one := v.byIdentity[identity]
	one.streams--
	if one.connections[conn]--; one.connections[conn] == 0 {
		delete(one.connections, conn)
	}
}

// sweep forgets who has nothing open and has not opened anything for a while. It is done when as many came as were left, so that
// it costs each newcomer the same.
func (v *visitors) sweep() {
	if len(v.byIdentity) < 2*v.swept+64 {
		return
	}
	for identity, one := range v.byIdentity {
		if one.idle(v.opts.StreamBurst) {
			delete(v.byIdentity, identity)
		}
	}
	v.swept = len(v.byIdentity)
}
