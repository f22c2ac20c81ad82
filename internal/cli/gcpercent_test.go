package cli

import (
	"testing"
	"time"
)

// TestGCPercent checks that frequent collections raise GOGC, and that a quiet time lowers it.
func TestGCPercent(t *testing.T) {
	var f gcFrequency
	start := time.Now()
	for _, step := range []struct {
		after       time.Duration
		collections uint64
		percent     int
		changed     bool
	}{
		{0, 1, quietGCPercent, false},
		{quietAfter, 2, quietGCPercent, false},
		{quietAfter + time.Second, 3, busyGCPercent, true},
		{quietAfter + 2*time.Second, 4, busyGCPercent, false},
		{2*quietAfter + time.Second, 4, busyGCPercent, false},
		{2*quietAfter + 2*time.Second, 4, quietGCPercent, true},
		{2*quietAfter + 3*time.Second, 5, quietGCPercent, false},
	} {
		percent, changed := f.sample(start.Add(step.after), step.collections)
		if percent != step.percent || changed != step.changed {
			t.Errorf("after %v: got %d, %v, want %d, %v", step.after, percent, changed, step.percent, step.changed)
		}
	}
}
