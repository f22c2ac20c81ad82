package ratelimit

import "testing"

// Each source has a bucket of its own, and the least recently used one is dropped.
func TestPerSource(t *testing.T) {
	p := New(0, 1, 2)
	for _, step := range []struct {
		source string
		ok     bool
	}{{"a", true}, {"a", false}, {"b", true}, {"a", false}, {"c", true}, {"a", false}, {"b", true}} {
		if ok := p.Of(step.source).Allow(); ok != step.ok {
			t.Errorf("source %s: got %v, want %v", step.source, ok, step.ok)
		}
	}
}
