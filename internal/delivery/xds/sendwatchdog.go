package xds

import (
	"sync"
	"time"

	"anymesh.dev/anymesh/internal/timerslack"
)

// sendWatchdog limits the duration of a send. Sends are frequent and short, so that the timer is not reset for each
// of them: it fires at most once per limit while sends occur. After a change for all clients, the timers of all streams
// fire together, so a limit that is longer than the slack may be exceeded by the slack.
type sendWatchdog struct {
	limit     time.Duration
	onTimeout func() // called once, when a send exceeds the limit

	mu        sync.Mutex
	timer     *time.Timer
	armed     bool
	sending   bool
	startedAt time.Time
	timedOut  bool
}

func (p *sendWatchdog) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sending, p.startedAt = true, time.Now()
	switch {
	case p.armed:
		return
	case p.timer == nil:
		p.timer = time.AfterFunc(p.firstCheck(), p.check)
	default:
		p.timer.Reset(p.firstCheck())
	}
	p.armed = true
}

// firstCheck is the time from the start of a send to the check of it and of those that follow.
func (p *sendWatchdog) firstCheck() time.Duration {
	if p.limit <= timerslack.Slack {
		return p.limit
	}
	return timerslack.Extend(p.limit)
}

// done ends the send.
func (p *sendWatchdog) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sending = false
}

func (p *sendWatchdog) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.limit - time.Since(p.startedAt)
	switch p.armed = p.sending && !p.timedOut; {
	case !p.armed:
	case left > 0:
		p.timer.Reset(left)
	default:
		p.armed, p.timedOut = false, true
		p.onTimeout()
	}
}

// stop disables the watchdog.
func (p *sendWatchdog) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.armed, p.sending = true, false
}
