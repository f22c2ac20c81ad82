package xds

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// versions behaves like a map, for any number of elements.
func TestVersionsMatchMap(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		names := 1 + rng.Uint32N(100)
		var v versions
		want := map[uint32]*Resource{}
		for range 500 {
			n := rng.Uint32N(names)
			switch rng.IntN(8) {
			case 0, 1, 2:
				var r *Resource
				if rng.IntN(2) == 0 {
					r = &Resource{}
				}
				v.set(n, r)
				want[n] = r
			case 3, 4, 5:
				v.remove(n)
				delete(want, n)
			case 6, 7: // removal during iteration
				seen := 0
				for n, r := range v.all() {
					if want[n] != r {
						t.Fatalf("seed %d: %d: got %p, want %p", seed, n, r, want[n])
					}
					if seen++; rng.IntN(2) == 0 {
						v.remove(n)
						delete(want, n)
						seen--
					}
				}
				if seen != len(want) {
					t.Fatalf("seed %d: iterated over %d, want %d", seed, seen, len(want))
				}
			}
			r, known := v.get(n)
			if is, there := want[n]; known != there || r != is || v.len() != len(want) {
				t.Fatalf("seed %d: %d of %d, want %d", seed, n, v.len(), len(want))
			}
		}
		if got := maps.Collect(v.all()); !maps.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
	}
}
