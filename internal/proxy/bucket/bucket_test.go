package bucket

import (
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// A bucket is full at first, and gets its tokens once in each interval.
func TestBucket(t *testing.T) {
	begin := time.Unix(1000, 0)
	b := New(&config.Rate{Count: 2, Burst: 1, Interval: 1000}, begin)
	takes := func(at time.Duration, want int) {
		t.Helper()
		got := 0
		for b.Take(begin.Add(at)) {
			got++
		}
		if got != want {
			t.Errorf("after %v: got %d tokens, want %d", at, got, want)
		}
	}
	takes(0, 3)
	takes(999*time.Millisecond, 0)
	takes(1900*time.Millisecond, 2)
	takes(2*time.Second, 2)
	takes(1000*time.Hour, 3)
	if none := New(nil, begin); !none.Take(begin) {
		t.Error("no limit limits")
	}
}
