package socket

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Turns that wait hold nobody up for long, and the goroutines that took their place are gone when they are not needed.
func TestTurnsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiting = 100
		c := NewCrew(2)
		release := make(chan struct{})
		for range waiting {
			c.Wake(&Turn{Do: func() { <-release }})
		}
		done := make(chan struct{})
		began := time.Now()
		c.Wake(&Turn{Do: func() { close(done) }})
		<-done
		if took := time.Since(began); took > 10*patience { // the fake clock of the bubble
			t.Errorf("a turn waited for %v behind %d that wait", took, waiting)
		}
		close(release)
		time.Sleep(2 * patience)
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.working != 0 || c.looking || c.begun != waiting+1 {
			t.Errorf("%d goroutines are left, looking: %v, turns: %d", c.working, c.looking, c.begun)
		}
	})
}

// As long as nothing waits, there are no more goroutines than said, and turns begin in their order.
func TestTurnsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const turns = 1000
		c := NewCrew(1)
		var mu sync.Mutex
		var order []int
		for i := range turns {
			c.Wake(&Turn{Do: func() {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
			}})
		}
		synctest.Wait()
		if len(order) != turns {
			t.Fatalf("%d turns of %d", len(order), turns)
		}
		for i, n := range order {
			if i != n {
				t.Fatalf("turn %d comes as number %d", n, i)
			}
		}
	})
}

// A turn may be woken again while it is taken, by itself or by others.
func TestTurnAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCrew(2)
		left := 100
		var one Turn
		one.Do = func() {
			if left--; left > 0 {
				c.Wake(&one)
			}
		}
		c.Wake(&one)
		synctest.Wait()
		if left != 0 {
			t.Errorf("%d turns are left", left)
		}
	})
}
