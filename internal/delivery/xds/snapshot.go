package xds

import (
	"cmp"
	"fmt"
	"slices"
)

// Snapshot is the full set of resources of one key.
type Snapshot struct {
	// Shared are resources that other keys have, too. It may be nil.
	Shared *Shared
	own    []*Resource // sorted by type, then name
}

// NewSnapshot creates a snapshot of resources in any order. Two resources of one type and name are an error.
func NewSnapshot(own ...*Resource) (*Snapshot, error) {
	sorted := slices.Clone(own)
	slices.SortFunc(sorted, byTypeAndName)
	for i := 1; i < len(sorted); i++ {
		if byTypeAndName(sorted[i-1], sorted[i]) == 0 {
			return nil, duplicate(sorted[i])
		}
	}
	return &Snapshot{own: sorted}, nil
}

// With returns a snapshot of the shared resources and others. The receiver may be nil. Two resources of one type and
// name are an error.
func (s *Shared) With(own ...*Resource) (*Snapshot, error) {
	all, err := NewSnapshot(own...)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return all, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range all.own {
		if p := s.part(r.TypeURL); p != nil {
			if i, known := p.index.find(r.Name, p.name); known && p.resource(i) != nil {
				return nil, duplicate(r)
			}
		}
	}
	all.Shared = s
	return all, nil
}

func duplicate(r *Resource) error {
	return fmt.Errorf("snapshot: two resources of type %s are named %q", r.TypeURL, r.Name)
}

func byTypeAndName(a, b *Resource) int {
	return cmp.Or(cmp.Compare(a.TypeURL, b.TypeURL), cmp.Compare(a.Name, b.Name))
}

// hasOwn reports whether the snapshot has an own resource of the same type and name.
func (s *Snapshot) hasOwn(r *Resource) bool {
	_, found := slices.BinarySearchFunc(s.own, r, byTypeAndName)
	return found
}

// Ref identifies a resource.
type Ref struct{ TypeURL, Name string }
