package xds

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// Snapshot is the full set of resources of one workload. It is immutable.
type Snapshot struct {
	base      *Snapshot   // more resources, which other snapshots may share; nil if there are none
	resources []*Resource // sorted by type, then name

	// tables are those of a state with the snapshot, made when the first state is filled with it. They are only copied.
	tables state
	once   sync.Once
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

// With returns a snapshot with additional resources. It shares the others.
func (s *Snapshot) With(resources ...*Resource) (*Snapshot, error) {
	more, err := NewSnapshot(resources...)
	if err != nil {
		return nil, err
	}
	for _, r := range more.resources {
		if s.has(r) {
			return nil, duplicate(r)
		}
	}
	more.base = s
	return more, nil
}

func duplicate(r *Resource) error {
	return fmt.Errorf("snapshot: two resources of type %s are named %q", r.TypeURL, r.Name)
}

// Resources returns all resources, sorted by type and name.
func (s *Snapshot) Resources() []*Resource {
	if s.base == nil {
		return slices.Clone(s.resources)
	}
	return merge(s.base.Resources(), s.resources)
}

// merge merges a long and a short sorted list without common resources.
func merge(long, short []*Resource) []*Resource {
	all := make([]*Resource, 0, len(long)+len(short))
	for _, r := range short {
		i, _ := slices.BinarySearchFunc(long, r, byTypeAndName)
		all, long = append(append(all, long[:i]...), r), long[i:]
	}
	return append(all, long...)
}

func byTypeAndName(a, b *Resource) int {
	return cmp.Or(cmp.Compare(a.TypeURL, b.TypeURL), cmp.Compare(a.Name, b.Name))
}

// has reports whether the snapshot has a resource of the same type and name.
func (s *Snapshot) has(r *Resource) bool {
	for part := s; part != nil; part = part.base {
		if _, found := slices.BinarySearchFunc(part.resources, r, byTypeAndName); found {
			return true
		}
	}
	return false
}

// Ref identifies a resource.
type Ref struct{ TypeURL, Name string }
