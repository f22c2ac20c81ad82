package incremental

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Lists stay as they were added, while others are added and removed.
func TestRunsKeepLists(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var held runs[cellID]
	want := map[runID][]cellID{}
	for step := range 20_000 {
		if random.IntN(2000) > step%2000 {
			list := make([]cellID, random.IntN(2*maxRun))
			for i := range list {
				list[i] = cellID(random.Uint32())
			}
			id := held.add(list)
			if old, again := want[id]; again && id != 0 {
				t.Fatalf("list %v has the number of list %v", list, old)
			}
			want[id] = list
		} else {
			for id := range want {
				held.remove(id)
				delete(want, id)
				break
			}
		}
		if step%100 == 0 {
			for id, list := range want {
				if got := held.get(id); !slices.Equal(got, list) {
					t.Fatalf("step %d: got %v, want %v", step, got, list)
				}
			}
		}
	}
}
