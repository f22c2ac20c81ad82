package xds

import (
	"cmp"
	"fmt"
	"slices"
)

// Snapshot is all that the sidecars of one workload must know. It does not
// change once made.
type Snapshot struct {
	resources []*Resource // by type, then name
}

// NewSnapshot collects resources; their order does not matter. Two resources of
// one type and name are an error.
func NewSnapshot(resources ...*Resource) (*Snapshot, error) {
	sorted := slices.Clone(resources)
	slices.SortFunc(sorted, func(a, b *Resource) int {
		return cmp.Or(cmp.Compare(a.TypeURL, b.TypeURL), cmp.Compare(a.Name, b.Name))
	})
	for i := 1; i < len(sorted); i++ {
		if a, b := sorted[i-1], sorted[i]; a.TypeURL == b.TypeURL && a.Name == b.Name {
			return nil, fmt.Errorf("snapshot: two resources of type %s are named %q", a.TypeURL, a.Name)
		}
	}
	return &Snapshot{resources: sorted}, nil
}

// Resources are all resources, ordered by type and name.
func (s *Snapshot) Resources() []*Resource { return slices.Clone(s.resources) }

// Ref names a resource.
type Ref struct{ TypeURL, Name string }

// state is what is published for one key now: by type, then name.
type state map[string]*typeState

type typeState struct {
	resources map[string]*Resource
	digest    uint64 // sum over the resources, so that one change costs one addition
}

func (s state) get(typeURL, name string) *Resource {
	if t := s[typeURL]; t != nil {
		return t.resources[name]
	}
	return nil
}

// version describes all resources of a type. Equal sets have equal versions.
func (s state) version(typeURL string) string {
	if t := s[typeURL]; t != nil {
		return fmt.Sprintf("%016x", t.digest)
	}
	return fmt.Sprintf("%016x", 0)
}

// put says whether it changed anything.
func (s state) put(r *Resource) bool {
	t := s[r.TypeURL]
	if t == nil {
		t = &typeState{resources: map[string]*Resource{}}
		s[r.TypeURL] = t
	}
	old := t.resources[r.Name]
	if old != nil && old.Version == r.Version {
		return false
	}
	if old != nil {
		t.digest -= old.digest
	}
	t.resources[r.Name] = r
	t.digest += r.digest
	return true
}

// drop says whether it changed anything.
func (s state) drop(ref Ref) bool {
	t := s[ref.TypeURL]
	if t == nil {
		return false
	}
	old := t.resources[ref.Name]
	if old == nil {
		return false
	}
	delete(t.resources, ref.Name)
	t.digest -= old.digest
	return true
}

// replace makes the state that of the snapshot and returns what changed.
func (s state) replace(with *Snapshot) []Ref {
	var changed []Ref
	keep := make(map[Ref]struct{}, len(with.resources))
	for _, r := range with.resources {
		ref := Ref{r.TypeURL, r.Name}
		keep[ref] = struct{}{}
		if s.put(r) {
			changed = append(changed, ref)
		}
	}
	for typeURL, t := range s {
		for name := range t.resources {
			ref := Ref{typeURL, name}
			if _, ok := keep[ref]; !ok && s.drop(ref) {
				changed = append(changed, ref)
			}
		}
	}
	return changed
}
