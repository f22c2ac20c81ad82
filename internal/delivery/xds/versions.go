package xds

import (
	"iter"
	"maps"
)

// versions are those that a client has of resources that changed, by number; nil is one that no resource has. Equal
// resources are one, so that pointers can be compared. Most often there are one or two. There are thousands when a
// client connects, all nil, or when a mesh is replaced.
type versions struct {
	some []version
	many *manyVersions // in place of some
}

type version struct {
	number uint32
	of     *Resource
}

// few is how many versions are searched one by one.
const few = 8

// manyVersions are more than a few versions.
type manyVersions struct {
	unknown bitset // numbers with nil
	known   map[uint32]*Resource
}

func (v *versions) len() int {
	if v.many != nil {
		return v.many.unknown.count + len(v.many.known)
	}
	return len(v.some)
}

func (v *versions) get(n uint32) (of *Resource, known bool) {
	if v.many != nil {
		of, known = v.many.known[n]
		return of, known || v.many.unknown.has(n)
	}
	if i := v.place(n); i >= 0 {
		return v.some[i].of, true
	}
	return nil, false
}

// place returns the position of a number among some, or -1.
func (v *versions) place(n uint32) int {
	for i := range v.some {
		if v.some[i].number == n {
			return i
		}
	}
	return -1
}

func (v *versions) set(n uint32, of *Resource) {
	if v.many == nil {
		if i := v.place(n); i >= 0 {
			v.some[i].of = of
			return
		}
		if len(v.some) < few {
			v.some = append(v.some, version{n, of})
			return
		}
		v.many = &manyVersions{}
		for _, one := range v.some {
			v.many.set(one.number, one.of)
		}
		v.some = nil
	}
	v.many.set(n, of)
}

func (m *manyVersions) set(n uint32, of *Resource) {
	if of == nil {
		delete(m.known, n)
		m.unknown.add(n)
		return
	}
	m.unknown.remove(n)
	if m.known == nil {
		m.known = map[uint32]*Resource{}
	}
	m.known[n] = of
}

func (v *versions) remove(n uint32) {
	if v.many != nil {
		v.many.unknown.remove(n)
		delete(v.many.known, n)
		if v.len() == 0 {
			v.many = nil // maps and bitsets do not shrink
		}
		return
	}
	if i := v.place(n); i >= 0 {
		last := len(v.some) - 1
		v.some[i] = v.some[last]
		v.some[last] = version{}
		v.some = v.some[:last]
	}
}

// all lists the versions in any order. The one that is yielded may be removed meanwhile.
func (v *versions) all() iter.Seq2[uint32, *Resource] {
	if v.many != nil {
		return v.many.all
	}
	return func(yield func(uint32, *Resource) bool) {
		for i := len(v.some) - 1; i >= 0; i-- {
			if one := v.some[i]; !yield(one.number, one.of) {
				return
			}
		}
	}
}

func (m *manyVersions) all(yield func(uint32, *Resource) bool) {
	for n := range m.unknown.all() {
		if !yield(n, nil) {
			return
		}
	}
	maps.All(m.known)(yield)
}
