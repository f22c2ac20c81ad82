package socket

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Blocked tasks do not delay other tasks for long. The additional goroutines end when they are not needed.
func TestBlockedTasksDoNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const blocked = 100
		c := NewWorkerPool(2)
		release := make(chan struct{})
		for range blocked {
			c.Wake(&Task{Run: func() { <-release }})
		}
		done := make(chan struct{})
		began := time.Now()
		c.Wake(&Task{Run: func() { close(done) }})
		<-done
		if took := time.Since(began); took > 10*patience { // fake clock
			t.Errorf("a task waited for %v behind %d blocked tasks", took, blocked)
		}
		close(release)
		time.Sleep(2 * patience)
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.working != 0 || c.looking || c.begun != blocked+1 {
			t.Errorf("got %d goroutines, looking %v, %d tasks", c.working, c.looking, c.begun)
		}
	})
}

// If no task blocks, the number of goroutines stays at the limit, and tasks start in order.
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
			t.Fatalf("got %d tasks of %d", len(order), tasks)
		}
		for i, n := range order {
			if i != n {
				t.Fatalf("task %d is number %d", n, i)
			}
		}
	})
}

// A task that is woken while it runs, also by itself, runs again.
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
			t.Errorf("%d runs are missing", left)
		}
	})
}
