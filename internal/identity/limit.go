package identity

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"
)

// maxSources bounds the memory of a limiter; the longest unseen source is forgotten first.
const maxSources = 16384

// limiter is a token bucket for each source.
type limiter struct {
	every rate.Limit
	burst int
	now   func() time.Time

	mu      sync.Mutex
	buckets *lru.Cache
}

func newLimiter(perSecond float64, burst int, now func() time.Time) *limiter {
	return &limiter{every: rate.Limit(perSecond), burst: burst, now: now, buckets: lru.New(maxSources)}
}

func (l *limiter) allow(source string) bool {
	l.mu.Lock()
	found, ok := l.buckets.Get(source)
	if !ok {
		found = rate.NewLimiter(l.every, l.burst)
		l.buckets.Add(source, found)
	}
	l.mu.Unlock()
	return found.(*rate.Limiter).AllowN(l.now(), 1)
}

// sourceOf is the client's address; of IPv6 the /64, since one host owns all of it.
func sourceOf(remoteAddr string) string {
	ap, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return "unknown"
	}
	addr := ap.Addr().Unmap().WithZone("")
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}
