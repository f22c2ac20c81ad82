package xds

import (
	"cmp"
	"fmt"
	"slices"
)

// Snapshot is the full set of resources of one workload. It is immutable.
type Snapshot struct {
	resources []*Resource // sorted by type, then name
}

// NewSnapshot creates a snapshot of resources in any order. Two resources of one type and name are an error.
func NewSnapshot(resources ...*Resource) (*Snapshot, error) {
	sorted := slices.Clone(resources)
	slices.SortFunc(sorted, byTypeAndName)
	for i := 1; i < len(sorted); i++ {
		if a, b := sorted[i-1], sorted[i]; a.TypeURL == b.TypeURL && a.Name == b.Name {
			return nil, fmt.Errorf("snapshot: two resources of type %s are named %q", a.TypeURL, a.Name)
		}
	}
	return &Snapshot{resources: sorted}, nil
}

// Resources returns all resources, sorted by type and name.
func (s *Snapshot) Resources() []*Resource { return slices.Clone(s.resources) }

func byTypeAndName(a, b *Resource) int {
	return cmp.Or(cmp.Compare(a.TypeURL, b.TypeURL), cmp.Compare(a.Name, b.Name))
}

// has reports whether the snapshot has a resource of the same type and name.
func (s *Snapshot) has(r *Resource) bool {
	_, found := slices.BinarySearchFunc(s.resources, r, byTypeAndName)
	return found
}

// Ref identifies a resource.
type Ref struct{ TypeURL, Name string }
