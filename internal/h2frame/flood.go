package h2frame

import (
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/time/rate"
)

// FloodGuard limits the rate of frames that cost a client less than the server, such as control frames, empty frames,
// and frames that reset streams. Each DATA frame that the server sends permits creditsPerData more of them, since
// clients respond to data: they open both windows, and those that measure the bandwidth send a PING and change their
// initial window. Exceeding the limit closes the connection. The zero value has no limit.
type FloodGuard struct {
	credits atomic.Int32
	limiter *rate.Limiter // nil means no limit
}

const (
	// creditsPerData permits two WINDOW_UPDATE, a PING and a SETTINGS for each DATA frame.
	creditsPerData = 4
	// maxCredits is the maximum number of credits: those of 5000 DATA frames that the client has not read yet.
	maxCredits = 5000 * creditsPerData
)

// Limit sets the limit: frames per second, and how many may come at once. A rate of 0 is no limit.
func (g *FloodGuard) Limit(perSecond, burst int) {
	g.limiter = nil
	if perSecond > 0 {
		g.limiter = rate.NewLimiter(rate.Limit(perSecond), burst)
	}
}

// Credit counts sent DATA frames.
func (g *FloodGuard) Credit(frames int) {
	if have := g.credits.Load(); have < maxCredits {
		g.credits.Add(int32(min(frames*creditsPerData, maxCredits)))
	}
}

// Credits returns how many frames are permitted beyond the rate.
func (g *FloodGuard) Credits() int { return int(g.credits.Load()) }

// Charge counts a limited frame. Only one goroutine calls it. An error closes the connection.
func (g *FloodGuard) Charge() error {
	if g.limiter == nil {
		return nil
	}
	if g.credits.Load() > 0 {
		g.credits.Add(-1) // only the reader decrements, so that it stays at 0 or above
		return nil
	}
	if g.limiter.AllowN(time.Now(), 1) {
		return nil
	}
	return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
}
