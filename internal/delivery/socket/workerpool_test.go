package socket

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Tasks that wait hold nobody up for long, and the goroutines that took their place are gone when they are not needed.
func TestBlockedTasksDoNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiting = 100
		c := NewWorkerPool(2)
		release := make(chan struct{})
		for range waiting {
			c.Wake(&Task{Run: func() { <-release }})
		}
		done := make(chan struct{})
		began := time.Now()
		c.Wake(&Task{Run: func() { close(done) }})
		<-done
		if took := time.Since(began); took > 10*patience { // the fake clock of the bubble
			t.Errorf("a task waited for %v behind %d that wait", took, waiting)
		}
		close(release)
		time.Sleep(2 * patience)
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.working != 0 || c.looking || c.begun != waiting+1 {
			t.Errorf("%d goroutines are left, looking: %v, tasks: %d", c.working, c.looking, c.begun)
		}
	})
}

// As long as nothing waits, there are no more goroutines than said, and tasks begin in their order.
func TestTasksRunInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tasks = 1000
		c := NewWorkerPool(1)
		var mu sync.Mutex
		var order []int
		for i := range tasks {
			c.Wake(&Task{Run: func() {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
			}})
		}
		synctest.Wait()
		if len(order) != tasks {
			t.Fatalf("%d tasks of %d", len(order), tasks)
		}
		for i, n := range order {
			if i != n {
				t.Fatalf("task %d comes as number %d", n, i)
			}
		}
	})
}

// A task may be woken again while it is taken, by itself or by others.
func TestTaskWokenWhileRunningRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewWorkerPool(2)
		left := 100
		var one Task
		one.Run = func() {
			if left--; left > 0 {
				c.Wake(&one)
			}
		}
		c.Wake(&one)
		synctest.Wait()
		if left != 0 {
			t.Errorf("%d tasks are left", left)
		}
	})
}
