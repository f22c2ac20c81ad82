package xds

import (
	"slices"
	"testing"
)

func TestBitset(t *testing.T) {
	var b bitset
	for _, n := range []uint32{64, 3, 1000, 3, 63} {
		b.add(n)
	}
	b.remove(1000)
	b.remove(2000)
	if got, want := slices.Collect(b.all()), []uint32{3, 63, 64}; !slices.Equal(got, want) || b.count != 3 {
		t.Errorf("got %v (%d), want %v", got, b.count, want)
	}
	if b.has(1000) || b.has(1<<31) || !b.has(64) {
		t.Error("wrong members")
	}
	for n := range b.all() { // removal during iteration
		b.remove(n)
	}
	if got := slices.Collect(b.all()); got != nil || b.count != 0 {
		t.Errorf("got %v (%d), want none", got, b.count)
	}
}
