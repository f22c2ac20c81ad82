package xds

import (
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
)

// clientLimits limits the open streams and connections of each identity, and the rate of new streams.
type clientLimits struct {
	opts *Options

	subscriptions atomic.Int64 // size of the subscriptions of all identities

	mu         sync.Mutex
	byIdentity map[string]*clientUsage
	streams    int // of all identities
	keptIdle   int // number of identities after the last removeIdle
}

// clientUsage is what an identity uses. Most fields are guarded by the lock of clientLimits.
type clientUsage struct {
	identity    string
	streams     int
	connections map[net.Conn]int // streams per connection
	rate        *rate.Limiter

	budget subscriptionBudget
	// handling guards that one request is decoded and handled at a time, which takes several times its length.
	handling sync.Mutex
}

// idle reports whether the entry can be removed: no stream is open and the rate limiter is full.
func (v *clientUsage) idle(burst int) bool {
	return v.streams == 0 && v.rate.Tokens() >= float64(burst)
}

// acquire registers a stream of an identity. It fails when a limit is exceeded. cut is an identity of which a stream
// must be closed in return, or "".
func (v *clientLimits) acquire(identity string, conn net.Conn) (usage *clientUsage, cut string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one := v.byIdentity[identity]
	if one == nil {
		v.removeIdle()
		one = &clientUsage{
			identity:    identity,
			connections: map[net.Conn]int{},
			rate:        rate.NewLimiter(rate.Limit(float64(v.opts.MaxStreamsPerMinute)/60), v.opts.MaxStreamBurst),
		}
		one.budget.limit, one.budget.total = int64(v.opts.MaxSubscriptionSizePerIdentity), &v.subscriptions
		v.byIdentity[identity] = one
	}
	if err := v.check(one, conn); err != nil {
		return nil, "", err
	}
	if v.streams >= v.opts.MaxStreams {
		most := v.largest(func(u *clientUsage) int64 { return int64(u.streams) })
		if most.streams <= one.streams+1 {
			return nil, "", refuse(reasonMaxStreams, codes.ResourceExhausted, "more than %d streams of all clients",
				v.opts.MaxStreams)
		}
		cut = most.identity
	}
	v.streams++
	one.streams++
	one.connections[conn]++
	return one, cut, nil
}

// check checks the limits of one identity. It requires the lock.
func (v *clientLimits) check(one *clientUsage, conn net.Conn) error {
	identity := one.identity
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
	return nil
}

// largest returns the identity with the largest value. It requires the lock.
func (v *clientLimits) largest(of func(*clientUsage) int64) *clientUsage {
	var most *clientUsage
	for _, one := range v.byIdentity {
		if most == nil || of(one) > of(most) {
			most = one
		}
	}
	return most
}

// overBudget returns the identity with the largest subscriptions if those of all identities are too large, or "".
func (v *clientLimits) overBudget() string {
	if v.subscriptions.Load() <= int64(v.opts.MaxSubscriptionSize) {
		return ""
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.largest(func(u *clientUsage) int64 { return u.budget.used.Load() }).identity
}

func (v *clientLimits) release(identity string, conn net.Conn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one := v.byIdentity[identity]
	v.streams--
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
