package incremental

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// A table finds the same slots as a map, while it grows and shrinks.
func TestTableIsLikeMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var slots pool[slot]
	var found table[int, string]
	want := map[int]uint32{}
	for step := range 20_000 {
		key := random.IntN(1000)
		adds := random.IntN(4000) > step%4000 // at first most, at last few
		if place := want[key]; adds && place == 0 {
			want[key] = slots.add()
			found.put(want[key], key)
		} else if !adds && place != 0 {
			found.remove(key)
			slots.remove(place)
			delete(want, key)
		}
		if found.get(key) != want[key] || found.used != len(want) || slots.used() != len(want) {
			t.Fatalf("step %d: got slot %d of %d and %d, want %d of %d", step, found.get(key), found.used, slots.used(),
				want[key], len(want))
		}
	}
	got := map[int]uint32{}
	for _, place := range found.places {
		if place != 0 {
			got[found.items.at(place).key] = place
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got slots %v, want %v", got, want)
	}
}
