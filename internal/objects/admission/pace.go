package admission

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"
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
	// maxPacedSources is the number of addresses that are known; the least recently used one is forgotten.
	maxPacedSources = 4096
)

// pace limits amounts per second, of each source and of all. A nil pace has no limits.
type pace struct {
	all       *rate.Limiter
	perSecond rate.Limit // of one source
	burst     int

	mu      sync.Mutex
	sources *lru.Cache
}

func newPace(perSecond, burst, sourcePerSecond, sourceBurst int) *pace {
	return &pace{
		all: rate.NewLimiter(rate.Limit(perSecond), burst), perSecond: rate.Limit(sourcePerSecond), burst: sourceBurst,
		sources: lru.New(maxPacedSources),
	}
}

func (p *pace) of(source string) *rate.Limiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found, known := p.sources.Get(source); known {
		return found.(*rate.Limiter)
	}
	l := rate.NewLimiter(p.perSecond, p.burst)
	p.sources.Add(source, l)
	return l
}

// waitSource waits until a source may use an amount, but not beyond the context.
func (p *pace) waitSource(ctx context.Context, source string, amount int) error {
	if p == nil {
		return nil
	}
	return p.of(source).WaitN(ctx, amount)
}

// waitAll waits until all together may use an amount, but not beyond the context.
func (p *pace) waitAll(ctx context.Context, amount int) error {
	if p == nil {
		return nil
	}
	return p.all.WaitN(ctx, amount)
}

// charge adds what was used without being waited for.
func (p *pace) charge(source string, amount int) {
	if p == nil {
		return
	}
	now := time.Now()
	p.of(source).ReserveN(now, min(amount, p.burst))
	p.all.ReserveN(now, min(amount, p.all.Burst()))
}
