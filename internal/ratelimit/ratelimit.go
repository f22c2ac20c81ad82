// Package ratelimit limits rates by source, such as an address.
//
// In: names of sources. Out: the token bucket of each. The number of buckets is limited: the least recently used one is
// dropped, and its source begins with a full one.
package ratelimit

import (
	"sync"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"
)

// PerSource has a token bucket for each source. It is safe for concurrent use.
type PerSource struct {
	limit rate.Limit
	burst int

	mu      sync.Mutex
	buckets *lru.Cache
}

// New returns buckets of a size, which are filled at a rate per second. sources is the maximum number of buckets.
func New(perSecond float64, burst, sources int) *PerSource {
	return &PerSource{limit: rate.Limit(perSecond), burst: burst, buckets: lru.New(sources)}
}

// Burst is the size of a bucket.
func (p *PerSource) Burst() int { return p.burst }

// Of returns the bucket of a source.
func (p *PerSource) Of(source string) *rate.Limiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found, known := p.buckets.Get(source); known {
		return found.(*rate.Limiter)
	}
	l := rate.NewLimiter(p.limit, p.burst)
	p.buckets.Add(source, l)
	return l
}
