// Package bucket limits rates.
//
// In: a rate, and what wants a token at a time. Out: whether there is one.
package bucket

import (
	"sync"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// Bucket has tokens. It is full at first. A nil bucket has a token at any time.
type Bucket struct {
	most, fill int
	interval   time.Duration

	mu     sync.Mutex
	tokens int
	filled time.Time // the last time that tokens were added
}

// New returns a bucket; nil for no limit.
func New(r *config.Rate, now time.Time) *Bucket {
	if r == nil {
		return nil
	}
	most := r.Count + r.Burst
	return &Bucket{most: most, fill: r.Count, interval: time.Duration(r.Interval) * time.Millisecond, tokens: most, filled: now}
}

// Take takes a token. It reports false if there is none.
func (b *Bucket) Take(now time.Time) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := now.Sub(b.filled) / b.interval; n > 0 {
		b.filled = b.filled.Add(n * b.interval)
		// The product does not overflow: n is small, or the bucket is full.
		b.tokens = min(b.most, b.tokens+int(min(n, time.Duration(b.most)))*b.fill)
	}
	if b.tokens == 0 {
		return false
	}
	b.tokens--
	return true
}
