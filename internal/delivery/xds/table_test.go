package xds

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// Resources that are put into several states one after the other, with one place each, are in all of them: whatever
// order their tables have, and whether they have the resource.
func TestPlacesOfOtherTables(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const names = 30
	states, want := make([]state, 5), make([]map[string]*Resource, 5)
	for i := range states {
		states[i], want[i] = state{}, map[string]*Resource{}
		for _, n := range random.Perm(names) {
			if random.IntN(4) > 0 {
				r := text(ClusterType, fmt.Sprint(n), "0")
				states[i].put(r, &place{})
				want[i][r.Name] = r
			}
		}
	}
	for step := range 2000 {
		r, at := text(ClusterType, fmt.Sprint(random.IntN(names)), fmt.Sprint(random.IntN(3))), place{}
		for i, s := range states {
			switch old := want[i][r.Name]; random.IntN(5) {
			case 0:
				continue
			case 1:
				s.remove(Ref{ClusterType, r.Name})
				delete(want[i], r.Name)
			default:
				if c, changed := s.put(r, &at); changed != (old == nil || old.Version != r.Version) || changed && c.before != old {
					t.Fatalf("step %d: put of %s in state %d: changed %v, before %v", step, r.Name, i, changed, c.before)
				}
				if old == nil || old.Version != r.Version {
					want[i][r.Name] = r
				}
			}
			got := map[string]*Resource{}
			for n := range s.of(ClusterType).slots {
				if has := s.of(ClusterType).resource(uint32(n)); has != nil {
					got[has.Name] = has
				}
			}
			if !maps.Equal(got, want[i]) {
				t.Fatalf("step %d: state %d has %v, want %v", step, i, got, want[i])
			}
		}
	}
}
