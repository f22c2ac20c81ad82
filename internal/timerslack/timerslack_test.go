package timerslack

import (
	"testing"
	"testing/synctest"
	"time"
)

// Timers that start within the slack expire together, none too early and none later than the slack.
func TestTimersExpireTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = 30 * time.Second
		ends := map[time.Time]int{}
		for range 50 {
			extended := Extend(wait)
			if extended < wait || extended >= wait+Slack {
				t.Fatalf("%v is extended to %v", wait, extended)
			}
			ends[time.Now().Add(extended)]++
			time.Sleep(Slack / 10) // fake clock
		}
		if len(ends) > 6 {
			t.Errorf("50 timers of %v expire at %d times", wait, len(ends))
		}
	})
}
