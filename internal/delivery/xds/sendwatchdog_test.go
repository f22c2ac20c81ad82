package xds

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
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
					if p.done() {
						t.Fatal("a short send timed out")
					}
				}
				p.start()
				time.Sleep(999 * time.Millisecond)
				synctest.Wait()
				if over.Load() != 0 {
					t.Fatal("the watchdog fired too early")
				}
				time.Sleep(time.Millisecond)
				synctest.Wait()
				if late := p.done(); over.Load() != 1 || !late {
					t.Errorf("the watchdog fired %d times, timedOut %v; want once, true", over.Load(), late)
				}
			})
		})
	}
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
