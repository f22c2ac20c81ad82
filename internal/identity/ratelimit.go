package identity

import (
	"net/netip"
	"time"

	"anymesh.dev/anymesh/internal/ratelimit"
)

// MaxSources is the maximum number of token buckets of each limit. The least recently used one is dropped.
const MaxSources = 16384

// limiter allows a rate of each source.
type limiter struct {
	sources *ratelimit.PerSource
	now     func() time.Time
}

func newLimiter(perSecond float64, burst int, now func() time.Time) *limiter {
	return &limiter{ratelimit.New(perSecond, burst, MaxSources), now}
}

func (l *limiter) allow(source string) bool { return l.sources.Of(source).AllowN(l.now(), 1) }

// sourceKey returns the client's address. A network of IPv6 is not one source: a /64 can be that of a whole node.
func sourceKey(remoteAddr string) string {
	ap, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return "unknown"
	}
	return ap.Addr().Unmap().WithZone("").String()
}
