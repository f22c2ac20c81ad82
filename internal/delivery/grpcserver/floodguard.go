package grpcserver

import (
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/time/rate"
)

// floodGuard limits the rate of control frames, of frames that open or reset streams, and of empty frames: they cost
// a client less than the server. Each message that the server sends permits one more such frame, since gRPC clients
// send PING and WINDOW_UPDATE for received messages. Exceeding the limit closes the connection.
type floodGuard struct {
	credits atomic.Int32
	limiter *rate.Limiter // nil means no limit
}

// maxCredits is the maximum number of credits from sent messages.
const maxCredits = 1000

func newFloodGuard(o Options) floodGuard {
	if o.MaxFramesPerSecond == 0 {
		return floodGuard{}
	}
	return floodGuard{limiter: rate.NewLimiter(rate.Limit(o.MaxFramesPerSecond), o.MaxFrameBurst)}
}

// credit counts a sent message.
func (c *floodGuard) credit() {
	if c.credits.Load() < maxCredits {
		c.credits.Add(1)
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
