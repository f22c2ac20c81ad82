package xds

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Only what lasts too long is over, and as soon as it has, however often something was done before.
func TestPatience(t *testing.T) {
	for name, before := range map[string]int{"at once": 0, "behind much that was short": 1000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var over atomic.Int32
				p := patience{limit: time.Second, over: func() { over.Add(1) }}
				for range before {
					p.begin()
					time.Sleep(7 * time.Millisecond)
					if p.end() {
						t.Fatal("what was short is late")
					}
				}
				p.begin()
				time.Sleep(999 * time.Millisecond)
				synctest.Wait()
				if over.Load() != 0 {
					t.Fatal("it was over too early")
				}
				time.Sleep(time.Millisecond)
				synctest.Wait()
				if late := p.end(); over.Load() != 1 || !late {
					t.Errorf("it lasted too long, and was over %d times, late: %v", over.Load(), late)
				}
			})
		})
	}
}

// Nothing is left to look when there is nothing to do, or will not be.
func TestPatienceLooksNoMore(t *testing.T) {
	for name, end := range map[string]func(*patience){"done": func(p *patience) { p.end() }, "stopped": (*patience).stop} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := patience{limit: time.Second, over: func() { t.Error("over") }}
				p.begin()
				end(&p)
				time.Sleep(time.Hour)
				synctest.Wait()
				if p.timer.Stop() {
					t.Error("the timer is still set")
				}
			})
		})
	}
}
