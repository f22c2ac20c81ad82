package admission

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"anymesh.dev/anymesh/internal/ratelimit"
)

// Limits per second of the reviews of others than API servers. A review that exceeds one waits for up to shareWait, and
// is refused if that does not suffice.
const (
	// MaxBytesPerSecond is the average size of their bodies, MaxBytesBurst what they may have beyond it.
	MaxBytesPerSecond          = 2 << 20
	MaxBytesBurst              = 8 << 20
	MaxBytesPerSecondPerSource = 1 << 20
	MaxBytesBurstPerSource     = 4 << 20
	// MaxTimePerSecond is the average time that their evaluation takes, MaxTimeBurst what it may take beyond it. What a
	// review costs is only known afterwards: those of pods take a few milliseconds, but some take a hundred times as long.
	MaxTimePerSecond          = 50 * time.Millisecond
	MaxTimeBurst              = time.Second
	MaxTimePerSecondPerSource = 25 * time.Millisecond
	MaxTimeBurstPerSource     = 500 * time.Millisecond
	// MaxSources is the number of addresses that are known to each limit; the least recently used one is forgotten.
	MaxSources = 4096
)

// rateLimits limit amounts per second, of each source and of all. Nil has no limits.
type rateLimits struct {
	all     *rate.Limiter
	sources *ratelimit.PerSource
}

func newRateLimits(perSecond, burst, sourcePerSecond, sourceBurst int) *rateLimits {
	return &rateLimits{
		all:     rate.NewLimiter(rate.Limit(perSecond), burst),
		sources: ratelimit.New(float64(sourcePerSecond), sourceBurst, MaxSources),
	}
}

// waitSource waits until a source may use an amount, but not beyond the context.
func (l *rateLimits) waitSource(ctx context.Context, source string, amount int) error {
	if l == nil {
		return nil
	}
	return l.sources.Of(source).WaitN(ctx, amount)
}

// waitAll waits until all together may use an amount, but not beyond the context.
func (l *rateLimits) waitAll(ctx context.Context, amount int) error {
	if l == nil {
		return nil
	}
	return l.all.WaitN(ctx, amount)
}

// charge adds what was used without being waited for.
func (l *rateLimits) charge(source string, amount int) {
	if l == nil {
		return
	}
	now := time.Now()
	l.sources.Of(source).ReserveN(now, min(amount, l.sources.Burst()))
	l.all.ReserveN(now, min(amount, l.all.Burst()))
}
