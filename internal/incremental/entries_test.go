package incremental

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A key has the sorted values of all evaluations that emit into it, equal ones too, after any changes. Values that were
// read before stay as they were.
func TestEntriesOfOneKey(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		g := New()
		lists := NewRelation[int](g, "lists", slices.Compare[[]int], slices.Equal[[]int])
		all := newTestRelation[string, int](g, "all")
		r := NewRule(g, "emit")
		Each(r, lists, Emits(r, all), func(all *Emitter[string, int], _ int, values [][]int) {
			for _, v := range values[0] {
				all.Emit("one", v)
			}
		})
		all.TrackChanges()
		facts := map[int][]int{}
		var before, copied []int
		for range 200 {
			for range 1 + random.IntN(3) {
				key := random.IntN(40)
				list := make([]int, random.IntN(4))
				for i := range list {
					list[i] = random.IntN(6)
				}
				facts[key] = list
				if lists.Set(key, list); random.IntN(4) == 0 {
					delete(facts, key)
					lists.Delete(key)
				}
			}
			g.Run()
			var want []int
			for _, list := range facts {
				want = append(want, list...)
			}
			slices.Sort(want)
			got := all.Get("one")
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d: got %v, want %v", seed, got, want)
			}
			if !slices.Equal(before, copied) {
				t.Fatalf("seed %d: values that were read changed from %v to %v", seed, copied, before)
			}
			if changed := len(all.TakeChanged()) > 0; !changed && !slices.Equal(got, before) {
				t.Fatalf("seed %d: a change from %v to %v is not among the changes", seed, before, got)
			}
			before, copied = got, slices.Clone(got)
		}
		for key := range facts {
			lists.Delete(key)
		}
		if g.Run(); left(g) != "" {
			t.Fatalf("seed %d: without facts, these are left: %s", seed, left(g))
		}
	}
}
