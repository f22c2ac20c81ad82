package xds

import "iter"

// versions are those that the client has of resources that changed; nil is one that no resource has. Equal resources
// are one, so pointers can be compared. Most often there are one or two, and many only when a client begins or a mesh
// is replaced.
type versions struct {
	some []version
	many map[uint32]*Resource // in place of some
}

type version struct {
	number uint32
	of     *Resource
}

// few is how many versions are searched one by one.
const few = 8

// expect makes room for so many more: a map that grows is filled several times.
func (v *versions) expect(more int) {
	if v.many == nil && len(v.some)+more > few {
		v.toMany(len(v.some) + more)
	}
}

func (v *versions) toMany(size int) {
	v.many = make(map[uint32]*Resource, size)
	for _, one := range v.some {
		v.many[one.number] = one.of
	}
	v.some = nil
}

func (v *versions) len() int { return len(v.some) + len(v.many) }

func (v *versions) get(n uint32) (of *Resource, known bool) {
	if v.many != nil {
		of, known = v.many[n]
		return of, known
	}
	if i := v.place(n); i >= 0 {
		return v.some[i].of, true
	}
	return nil, false
}

// place is where a number is among some, or -1.
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
		v.toMany(2 * few)
	}
	v.many[n] = of
}

func (v *versions) remove(n uint32) {
	if v.many != nil {
		if delete(v.many, n); len(v.many) == 0 {
			v.many = nil // maps do not shrink
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

// all is in no order. The number that is looked at may be removed meanwhile.
func (v *versions) all() iter.Seq2[uint32, *Resource] {
	return func(yield func(uint32, *Resource) bool) {
		for i := len(v.some) - 1; i >= 0; i-- {
			if one := v.some[i]; !yield(one.number, one.of) {
				return
			}
		}
		for n, of := range v.many {
			if !yield(n, of) {
				return
			}
		}
	}
}
