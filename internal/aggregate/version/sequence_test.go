package version

import (
	"strconv"
	"testing"
	"time"
)

// TestIntegersOfASequence guards the order of integers within a process and after its restart.
func TestIntegersOfASequence(t *testing.T) {
	at := func(text string) func() time.Duration {
		now, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return func() time.Duration { return now.Sub(sequenceEpoch) }
	}
	s, other := &Sequence{replica: 7, clock: at("2026-11-23")}, &Sequence{replica: 8, clock: at("2026-11-23")}
	last := uint64(0)
	for range 100_000 { // faster than the unit of time
		n := s.Next()
		if n <= last || !s.Has(n) || other.Has(n) || n>>63 != 0 {
			t.Fatalf("%d after %d", n, last)
		}
		last = n
	}
	if restarted := (&Sequence{replica: 7, clock: at("2026-11-24")}).Next(); restarted <= last {
		t.Errorf("after a restart %d follows %d", restarted, last)
	}
	if !IsIssued(strconv.FormatUint(last, 10)) || IsIssued("123456789012") || IsIssued("x") {
		t.Error("integers and versions of API servers cannot be told apart")
	}
	if year := (&Sequence{replica: 7, clock: at("2068-01-01")}).Next(); year>>63 != 0 {
		t.Errorf("%d has more than 63 bits", year)
	}
}
