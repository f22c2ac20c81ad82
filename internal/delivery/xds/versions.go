package xds

import (
	"iter"
	"maps"
)

// versions are those that a client has of resources that changed, by number; nil is one that no resource has. Equal
// resources are one, so that pointers can be compared. Most often there is one, which needs no allocation. There are
// thousands when a client connects, all nil, or when a mesh is replaced.
type versions struct {
	unknown bitset // numbers with nil
	// only is the only known version, and onlyNumber its number. It is nil if there are none or several.
	only       *Resource
	onlyNumber uint32
	several    map[uint32]*Resource
}

func (v *versions) len() int {
	n := v.unknown.count + len(v.several)
	if v.only != nil {
		n++
	}
	return n
}

func (v *versions) get(n uint32) (of *Resource, known bool) {
	if v.only != nil && v.onlyNumber == n {
		return v.only, true
	}
	of, known = v.several[n]
	return of, known || v.unknown.has(n)
}

func (v *versions) set(n uint32, of *Resource) {
	if of == nil {
		v.removeKnown(n)
		v.unknown.add(n)
		return
	}
	v.unknown.remove(n)
	if v.several == nil && (v.only == nil || v.onlyNumber == n) {
		v.only, v.onlyNumber = of, n
		return
	}
	if v.several == nil {
		v.several = map[uint32]*Resource{v.onlyNumber: v.only}
		v.only = nil
	}
	v.several[n] = of
}

func (v *versions) removeKnown(n uint32) {
	if v.onlyNumber == n {
		v.only = nil
	}
	delete(v.several, n)
}

func (v *versions) remove(n uint32) {
	if v.len() == 0 {
		return
	}
	v.unknown.remove(n)
	v.removeKnown(n)
	if v.len() == 0 {
		*v = versions{} // maps and bitsets do not shrink
	}
}

// all lists the versions in any order. The one that is yielded may be removed meanwhile.
func (v *versions) all() iter.Seq2[uint32, *Resource] {
	return func(yield func(uint32, *Resource) bool) {
		only, number, several := v.only, v.onlyNumber, v.several
		for n := range v.unknown.all() {
			if !yield(n, nil) {
				return
			}
		}
		if only != nil && !yield(number, only) {
			return
		}
		maps.All(several)(yield)
	}
}
