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
		if byTypeAndName(sorted[i-1], sorted[i]) == 0 {
			return nil, duplicate(sorted[i])
		}
	}
	return &Snapshot{resources: sorted}, nil
}

// With returns a snapshot with additional resources. It costs less than a new one: the others are sorted already.
func (s *Snapshot) With(resources ...*Resource) (*Snapshot, error) {
	more, err := NewSnapshot(resources...)
	if err != nil {
		return nil, err
	}
	left, all := s.resources, make([]*Resource, 0, len(s.resources)+len(resources))
	for _, r := range more.resources {
		i, found := slices.BinarySearchFunc(left, r, byTypeAndName)
		if found {
			return nil, duplicate(r)
		}
		all, left = append(append(all, left[:i]...), r), left[i:]
	}
	return &Snapshot{resources: append(all, left...)}, nil
}

func duplicate(r *Resource) error {
	return fmt.Errorf("snapshot: two resources of type %s are named %q", r.TypeURL, r.Name)
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
