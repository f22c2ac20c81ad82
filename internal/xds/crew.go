package xds

import (
	"sync"
	"time"
)

// crew does what many streams have to do, with few goroutines: one for each stream costs more than most writes. A turn may wait for a client that
// does not read, so there are more as long as those that there are wait.
type crew struct {
	size int // goroutines, while none of them waits

	mu          sync.Mutex
	first, last *turn // of those that wait for somebody
	working     int
	begun       int // turns, ever
	watched     bool
}

// turn is what one stream has to do. It is added again only when it has begun.
type turn struct {
	do   func()
	next *turn
}

// patience is how long turns wait while none begins, until there are more goroutines.
const patience = 2 * time.Millisecond

func (c *crew) add(t *turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first == nil {
		c.first = t
	} else {
		c.last.next = t
	}
	c.last = t
	switch {
	case c.working < c.size:
		c.hire()
	case !c.watched:
		c.watched = true
		c.look(c.begun)
	}
}

// hire needs the lock.
func (c *crew) hire() {
	c.working++
	go c.work()
}

func (c *crew) work() {
	for t := c.take(); t != nil; t = c.take() {
		t.do()
	}
}

// take is the next turn; with nil the goroutine is not needed any more.
func (c *crew) take() *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.first
	if t == nil {
		c.working--
		return nil
	}
	c.first, t.next = t.next, nil
	c.begun++
	return t
}

// look comes back to see whether more turns than these begin. There are twice as many goroutines if none does. It needs the lock.
func (c *crew) look(begun int) {
	time.AfterFunc(patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.first == nil {
			c.watched = false
			return
		}
		more := 0
		if c.begun <= begun {
			for t := c.first; t != nil && more < c.working; t = t.next {
				more++
			}
		}
		for range more {
			c.hire()
		}
		c.look(c.begun + more)
	})
}
