package xds

import (
	"iter"
	"maps"
)

// versions are those that a client has of resources that changed, by number; nil is one that no resource has. Equal
// resources are one, so that pointers can be compared. Most often there are one or two. There are thousands when a
// client connects, all nil, or when a mesh is replaced.
type versions struct {
	unknown bitset // numbers with nil
	known   map[uint32]*Resource
}

func (v *versions) len() int { return v.unknown.count + len(v.known) }

func (v *versions) get(n uint32) (of *Resource, known bool) {
	of, known = v.known[n]
	return of, known || v.unknown.has(n)
}

func (v *versions) set(n uint32, of *Resource) {
	if of == nil {
		delete(v.known, n)
		v.unknown.add(n)
		return
	}
	v.unknown.remove(n)
	if v.known == nil {
		v.known = map[uint32]*Resource{}
	}
	v.known[n] = of
}

func (v *versions) remove(n uint32) {
	v.unknown.remove(n)
	delete(v.known, n)
	if v.len() == 0 {
		*v = versions{} // maps and bitsets do not shrink
	}
}

// all lists the versions in any order. The one that is yielded may be removed meanwhile.
func (v *versions) all() iter.Seq2[uint32, *Resource] {
	return func(yield func(uint32, *Resource) bool) {
		known := v.known
		for n := range v.unknown.all() {
			if !yield(n, nil) {
				return
			}
		}
		maps.All(known)(yield)
	}
}
