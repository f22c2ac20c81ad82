package xds

import (
	"sync"
	"time"
)

// patience bounds how long something may take that is done again and again, and most often takes no time. Its timer is not set for each of
// them, but looks now and then, as long as there are any.
type patience struct {
	limit time.Duration
	over  func() // when it took longer

	mu    sync.Mutex
	timer *time.Timer
	set   bool
	busy  bool
	began time.Time
	late  bool
}

func (p *patience) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy, p.began = true, time.Now()
	switch {
	case p.set:
		return
	case p.timer == nil:
		p.timer = time.AfterFunc(p.limit, p.look)
	default:
		p.timer.Reset(p.limit)
	}
	p.set = true
}

// end says whether it took too long.
func (p *patience) end() (late bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = false
	return p.late
}

func (p *patience) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.limit - time.Since(p.began)
	switch p.set = p.busy && !p.late; {
	case !p.set:
	case left > 0:
		p.timer.Reset(left)
	default:
		p.set, p.late = false, true
		p.over()
	}
}

// stop is for when there will be nothing more.
func (p *patience) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.set, p.busy = true, false
}
