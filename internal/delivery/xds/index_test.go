package xds

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// After any sequence of changes, the index finds what a map finds.
func TestIndexMatchesMap(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var x index
		names, numbers := []string{}, map[string]uint32{}
		nameOf := func(n uint32) string { return names[n] }
		for range 2000 {
			name := strconv.Itoa(rng.IntN(200))
			number, known := numbers[name]
			if got, ok := x.find(name, nameOf); ok != known || ok && got != number {
				t.Fatalf("seed %d: %q: got %d %t, want %d %t", seed, name, got, ok, number, known)
			}
			switch {
			case known && rng.IntN(2) == 0:
				x.remove(name, nameOf)
				delete(numbers, name)
			case !known:
				names = append(names, name)
				numbers[name] = uint32(len(names) - 1)
				x.add(name, numbers[name], nameOf)
			}
			if x.used != len(numbers) {
				t.Fatalf("seed %d: got %d used cells, want %d", seed, x.used, len(numbers))
			}
		}
	}
}
