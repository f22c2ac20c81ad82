package xds

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"anymesh.dev/anymesh/internal/timerslack"
)

// onTimeout is called exactly when a send exceeds the limit, independent of earlier sends.
func TestSendWatchdogFiresAtLimit(t *testing.T) {
	for name, before := range map[string]int{"first send": 0, "after 1000 short sends": 1000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var over atomic.Int32
				p := sendWatchdog{limit: time.Second, onTimeout: func() { over.Add(1) }}
				for range before {
					p.start()
					time.Sleep(7 * time.Millisecond)
					p.done()
				}
				p.start()
				time.Sleep(999 * time.Millisecond)
				synctest.Wait()
				if over.Load() != 0 {
					t.Fatal("the watchdog fired too early")
				}
				time.Sleep(time.Millisecond)
				synctest.Wait()
				if p.done(); over.Load() != 1 {
					t.Errorf("the watchdog fired %d times, want once", over.Load())
				}
			})
		})
	}
}

// The timers of streams that send at different times fire together: an idle process seldom wakes up.
func TestSendWatchdogsFireTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 30 * time.Second
		var mu sync.Mutex
		ends := map[time.Duration]int{}
		begin := time.Now()
		for range 50 {
			started := time.Now()
			p := &sendWatchdog{limit: limit}
			p.onTimeout = func() {
				mu.Lock()
				defer mu.Unlock()
				ends[time.Since(begin)]++
				if took := time.Since(started); took < limit || took > limit+timerslack.Slack {
					t.Errorf("the watchdog fired after %v", took)
				}
			}
			p.start()
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(2 * limit)
		mu.Lock()
		defer mu.Unlock()
		if len(ends) > 2 {
			t.Errorf("50 watchdogs fired at %d times", len(ends))
		}
	})
}

// No timer is left when no send is in progress.
func TestSendWatchdogStopsTimer(t *testing.T) {
	for name, end := range map[string]func(*sendWatchdog){"done": func(p *sendWatchdog) { p.done() },
		"stopped": (*sendWatchdog).stop} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := sendWatchdog{limit: time.Second, onTimeout: func() { t.Error("over") }}
				p.start()
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
