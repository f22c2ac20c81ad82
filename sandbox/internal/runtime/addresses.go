package runtime

import (
	"errors"
	"sync"
)

// pool allocates Pod address numbers in a ring, so that a number is reused as late as possible.
type pool struct {
	mu   *sync.Mutex
	used map[int]bool
	next int
}

const firstPod, lastPod = 2, 65534

func newPool() pool { return pool{mu: new(sync.Mutex), used: map[int]bool{}, next: firstPod} }

func (p *pool) take() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range lastPod - firstPod + 1 {
		n := p.next
		if p.next++; p.next > lastPod {
			p.next = firstPod
		}
		if !p.used[n] {
			p.used[n] = true
			return n, nil
		}
	}
	return 0, errors.New("no free Pod address on this node")
}

func (p *pool) give(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, n)
}
