package grpcserver

import (
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/time/rate"
)

// calm counts frames that ask for an answer, that open or reset streams, or that say nothing: they cost a client less than the server. A
// connection may send some, and one for each message that it gets, as gRPC's clients do to measure the way. More ends it.
type calm struct {
	earned atomic.Int32
	rest   *rate.Limiter // nil if there is no limit
}

// saved bounds what is earned by messages.
const saved = 1000

func newCalm(o Options) calm {
	if o.FramesPerSecond == 0 {
		return calm{}
	}
	return calm{rest: rate.NewLimiter(rate.Limit(o.FramesPerSecond), o.FrameBurst)}
}

// earn counts a message sent.
func (c *calm) earn() {
	if c.earned.Load() < saved {
		c.earned.Add(1)
	}
}

// spend counts such a frame; an error ends the connection.
func (c *calm) spend() error {
	if c.rest == nil {
		return nil
	}
	if c.earned.Load() > 0 {
		c.earned.Add(-1) // only the reader does, so it does not fall below 0
		return nil
	}
	if c.rest.AllowN(time.Now(), 1) {
		return nil
	}
	return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
}
