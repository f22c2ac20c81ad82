package socket

import (
	"iter"
	"sync"
	"sync/atomic"
	"time"
)

// WorkerPool runs the tasks of many connections on few goroutines: one goroutine per connection costs more than most
// tasks do. A task may block on a client; the pool grows while its goroutines block. One idle goroutine waits for
// events of the connections.
type WorkerPool struct {
	size int // number of goroutines while none blocks
	poll poll

	mu          sync.Mutex
	first, last *Task // the queue
	working     int
	waiting     bool // one goroutine waits for events; it does not count as working
	begun       int  // tasks started so far
	timer       *time.Timer
	looking     bool // the timer that checks for blocked goroutines is set
}

// NewWorkerPool creates a pool of size goroutines. They start when there is work, and end when there is neither work
// nor a connection.
func NewWorkerPool(size int) *WorkerPool { return &WorkerPool{size: size} }

// Task is a function that runs repeatedly, and never twice at the same time. Run must be set before the first use.
type Task struct {
	Run func()

	state atomic.Int32
	next  *Task
}

// States of a task.
const (
	asleep int32 = iota
	awake        // queued or running
	again        // running, and queued once more
)

// wake updates the state, and reports whether the task must be queued.
func (t *Task) wake() bool {
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

// Wake schedules a task, once more if it is running. Calls before it runs are merged.
func (c *WorkerPool) Wake(t *Task) {
	if t.wake() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.add(t)
	}
}

// WakeAll schedules tasks like Wake, at less cost for many of them.
func (c *WorkerPool) WakeAll(tasks iter.Seq[*Task]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range tasks {
		if t.wake() {
			c.add(t)
		}
	}
}

// add queues a task. It requires the lock.
func (c *WorkerPool) add(t *Task) {
	c.append(t)
	if c.working < c.size {
		c.spawn()
	} else {
		c.lookAfter()
	}
}

// append requires the lock.
func (c *WorkerPool) append(t *Task) {
	if c.first == nil {
		c.first = t
	} else {
		c.last.next = t
	}
	c.last = t
}

// spawn starts a goroutine. It requires the lock.
func (c *WorkerPool) spawn() {
	c.working++
	go c.work()
}

func (c *WorkerPool) work() {
	var found []*Task
	for t := c.take(&found); t != nil; t = c.take(&found) {
		t.Run()
		if t.state.CompareAndSwap(awake, asleep) {
			continue
		}
		t.state.Store(awake)
		c.mu.Lock()
		c.append(t) // at the end of the queue
		c.mu.Unlock()
	}
}

// take returns the next task, or nil if the goroutine must end.
func (c *WorkerPool) take(found *[]*Task) *Task {
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
			if t.wake() {
				c.append(t)
			}
		}
		if len(*found) == most && c.working < c.size {
			c.spawn()
		}
		c.lookAfter()
	}
	t := c.first
	c.first, t.next = t.next, nil
	c.begun++
	return t
}

// patience is the time without a task start after which more goroutines are started for queued tasks.
const patience = 2 * time.Millisecond

// lookAfter sets the timer that checks whether queued tasks start. It requires the lock.
func (c *WorkerPool) lookAfter() {
	if c.looking {
		return
	}
	c.looking = true
	begun := c.begun
	c.timer = time.AfterFunc(patience, func() { c.look(&begun) })
}

// look doubles the goroutines if no task has started since the last check, although tasks are queued or no goroutine
// waits for events.
func (c *WorkerPool) look(begun *int) {
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
		c.spawn()
	}
	*begun = c.begun + more
	c.timer.Reset(patience)
}
