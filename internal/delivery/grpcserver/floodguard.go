package grpcserver

import (
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/time/rate"
)

// floodGuard limits the rate of control frames, of frames that open or reset streams, and of empty frames: they cost
// a client less than the server. Each DATA frame that the server sends permits creditsPerData more of them, since
// clients respond to data: they open both windows, and those that measure the bandwidth send a PING and change their
// initial window. Exceeding the limit closes the connection.
type floodGuard struct {
	credits atomic.Int32
	limiter *rate.Limiter // nil means no limit
}

const (
	// creditsPerData permits two WINDOW_UPDATE, a PING and a SETTINGS for each DATA frame.
	creditsPerData = 4
	// maxCredits is the maximum number of credits: those of 5000 DATA frames that the client has not read yet.
	maxCredits = 5000 * creditsPerData
)

func newFloodGuard(o Options) floodGuard {
	if o.MaxFramesPerSecond == 0 {
		return floodGuard{}
	}
	return floodGuard{limiter: rate.NewLimiter(rate.Limit(o.MaxFramesPerSecond), o.MaxFrameBurst)}
}

// credit counts sent DATA frames.
func (c *floodGuard) credit(frames int) {
	if have := c.credits.Load(); have < maxCredits {
		c.credits.Add(int32(min(frames*creditsPerData, maxCredits)))
	}
}

// charge counts a limited frame. An error closes the connection.
func (c *floodGuard) charge() error {
	if c.limiter == nil {
		return nil
	}
	if c.credits.Load() > 0 {
		c.credits.Add(-1) // only the reader decrements, so that it stays at 0 or above
		return nil
	}
	if c.limiter.AllowN(time.Now(), 1) {
		return nil
	}
	return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
}
