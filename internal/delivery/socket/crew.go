package socket

import (
	"sync"
	"sync/atomic"
	"time"
)

// Crew does what many connections have to do, with few goroutines: one for each connection costs more than most of what it does. A turn may wait
// for a client, so there are more goroutines as long as those that there are wait. One that has nothing to do waits for what comes in.
type Crew struct {
	size int // goroutines, while none of them waits
	poll poll

	mu          sync.Mutex
	first, last *Turn // of those that wait for somebody
	working     int
	waiting     bool // for what comes in; who does is not working
	begun       int  // turns, ever
	timer       *time.Timer
	looking     bool // the timer is set, to see whether turns that wait begin
}

// NewCrew makes a crew of so many goroutines, none of which is there while there is nothing to do or to wait for.
func NewCrew(size int) *Crew { return &Crew{size: size} }

// Turn is something to do, again and again, but never twice at a time. Do must be set before the first use.
type Turn struct {
	Do func()

	state atomic.Int32
	next  *Turn
}

// States of a turn.
const (
	asleep int32 = iota
	awake        // it is waited for, or taken
	again        // the same, and once more after that
)

// rouse says whether the turn is to be added to those that wait.
func (t *Turn) rouse() bool {
	for {
		switch t.state.Load() {
		case asleep:
			if t.state.CompareAndSwap(asleep, awake) {
				return true
			}
		case awake:
			if t.state.CompareAndSwap(awake, again) {
				return false
			}
		default:
			return false
		}
	}
}

// Wake has a turn taken, and taken again if it is being taken now. Calls that come meanwhile merge.
func (c *Crew) Wake(t *Turn) {
	if t.rouse() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.add(t)
	}
}

// add needs the lock.
func (c *Crew) add(t *Turn) {
	c.append(t)
	if c.working < c.size {
		c.hire()
	} else {
		c.lookAfter()
	}
}

// append needs the lock.
func (c *Crew) append(t *Turn) {
	if c.first == nil {
		c.first = t
	} else {
		c.last.next = t
	}
	c.last = t
}

// hire needs the lock.
func (c *Crew) hire() {
	c.working++
	go c.work()
}

func (c *Crew) work() {
	var found []*Turn
	for t := c.take(&found); t != nil; t = c.take(&found) {
		t.Do()
		if t.state.CompareAndSwap(awake, asleep) {
			continue
		}
		t.state.Store(awake)
		c.mu.Lock()
		c.append(t) // behind the others
		c.mu.Unlock()
	}
}

// take is the next turn; with nil the goroutine is not needed any more.
func (c *Crew) take(found *[]*Turn) *Turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.first == nil {
		c.working--
		if c.waiting || !c.poll.inUse() {
			return nil
		}
		c.waiting = true
		c.mu.Unlock()
		*found = c.poll.wait((*found)[:0])
		c.mu.Lock()
		c.waiting = false
		c.working++
		for _, t := range *found {
			if t.rouse() {
				c.append(t)
			}
		}
		if len(*found) == most && c.working < c.size {
			c.hire()
		}
		c.lookAfter()
	}
	t := c.first
	c.first, t.next = t.next, nil
	c.begun++
	return t
}

// patience is how long turns wait while none begins, until there are more goroutines.
const patience = 2 * time.Millisecond

// lookAfter has somebody see whether turns that wait begin. It needs the lock.
func (c *Crew) lookAfter() {
	if c.looking {
		return
	}
	c.looking = true
	begun := c.begun
	c.timer = time.AfterFunc(patience, func() { c.look(&begun) })
}

// look makes twice as many goroutines if none of the turns that wait, or that may have come in, has begun since it looked last.
func (c *Crew) look(begun *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	unattended := c.poll.inUse() && !c.waiting
	if c.first == nil && !unattended {
		c.looking = false
		return
	}
	more := 0
	if c.begun <= *begun {
		for t := c.first; t != nil && more < c.working; t = t.next {
			more++
		}
		if more == 0 && unattended {
			more = 1
		}
	}
	for range more {
		c.hire()
	}
	*begun = c.begun + more
	c.timer.Reset(patience)
}
