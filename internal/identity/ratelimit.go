package identity

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"
)

// maxSources is the maximum number of token buckets; the least recently used one is evicted.
const maxSources = 16384

// limiter has a token bucket for each source.
type limiter struct {
	limit rate.Limit
	burst int
	now   func() time.Time

	mu      sync.Mutex
	buckets *lru.Cache
}

func newLimiter(perSecond float64, burst int, now func() time.Time) *limiter {
	return &limiter{limit: rate.Limit(perSecond), burst: burst, now: now, buckets: lru.New(maxSources)}
}

func (l *limiter) allow(source string) bool {
	l.mu.Lock()
	found, ok := l.buckets.Get(source)
	if !ok {
		found = rate.NewLimiter(l.limit, l.burst)
		l.buckets.Add(source, found)
	}
	l.mu.Unlock()
	return found.(*rate.Limiter).AllowN(l.now(), 1)
}

// sourceKey returns the client's address. A network of IPv6 is not one source: a /64 can be that of a whole node.
func sourceKey(remoteAddr string) string {
	ap, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return "unknown"
	}
	return ap.Addr().Unmap().WithZone("").String()
}
