package xds

import (
	"slices"
	"testing"
)

// A snapshot with additional resources is the snapshot of all resources.
func TestSnapshotWith(t *testing.T) {
	all := []*Resource{
		text(ClusterType, "a", "1"), text(ClusterType, "c", "1"), text(EndpointType, "a", "1"), text(RouteType, "z", "1"),
	}
	want := snapshot(t, all...).Resources()
	for i := range 1 << len(all) {
		var some, others []*Resource
		for j, r := range all {
			if i&(1<<j) == 0 {
				some = append(some, r)
			} else {
				others = append([]*Resource{r}, others...)
			}
		}
		got, err := snapshot(t, some...).With(others...)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Resources(), want) {
			t.Errorf("%d resources and %d more: got %v", len(some), len(others), got.Resources())
		}
	}
}
