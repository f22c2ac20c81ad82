package xds

import (
	"fmt"
	"hash/maphash"
)

// state is what is published for one key now, by type.
type state map[string]*table

// table holds the resources of one type. Names have numbers, so that what a
// client has of a thousand resources are a thousand words, and not as many
// strings. A number stays with its name while there is a resource or a client
// with an entry for it.
type table struct {
	numbers map[string]uint32
	slots   []slot
	free    []uint32
	users   int    // subscriptions
	digest  uint64 // sum over the resources, so that one change costs one addition
}

type slot struct {
	name     string
	resource *Resource // nil if there is none
	refs     int       // clients with an entry
}

// change names what a publish changed.
type change struct {
	typeURL string
	number  uint32
}

// of finds or makes the table of a type.
func (s state) of(typeURL string) *table {
	t := s[typeURL]
	if t == nil {
		t = &table{numbers: map[string]uint32{}}
		s[typeURL] = t
	}
	return t
}

// release takes a subscription off a table, and the table away if nobody needs it.
func (s state) release(typeURL string) {
	t := s[typeURL]
	if t.users--; t.users == 0 && len(t.numbers) == 0 {
		delete(s, typeURL)
	}
}

// number finds or makes the number of a name.
func (t *table) number(name string) uint32 {
	if n, ok := t.numbers[name]; ok {
		return n
	}
	var n uint32
	if last := len(t.free) - 1; last >= 0 {
		n, t.free = t.free[last], t.free[:last]
	} else {
		n = uint32(len(t.slots))
		t.slots = append(t.slots, slot{})
	}
	t.slots[n] = slot{name: name}
	t.numbers[name] = n
	return n
}

// tidy frees a number that stands for nothing any more.
func (t *table) tidy(n uint32) {
	if s := &t.slots[n]; s.resource == nil && s.refs == 0 {
		delete(t.numbers, s.name)
		*s = slot{}
		t.free = append(t.free, n)
	}
}

// version describes all resources of a type. Equal sets have equal versions.
func (t *table) version() string { return fmt.Sprintf("%016x", t.digest) }

// put says whether it changed anything.
func (s state) put(r *Resource) (change, bool) {
	t := s.of(r.TypeURL)
	n := t.number(r.Name)
	old := t.slots[n].resource
	if old != nil && old.Version == r.Version {
		return change{}, false
	}
	if old != nil {
		t.digest -= old.digest
	}
	t.slots[n].resource = r
	t.slots[n].name = r.Name // rather the shared string than a client's
	t.digest += r.digest
	return change{r.TypeURL, n}, true
}

// drop says whether it changed anything.
func (s state) drop(ref Ref) (change, bool) {
	t := s[ref.TypeURL]
	if t == nil {
		return change{}, false
	}
	n, ok := t.numbers[ref.Name]
	if !ok || t.slots[n].resource == nil {
		return change{}, false
	}
	t.digest -= t.slots[n].resource.digest
	t.slots[n].resource = nil
	t.tidy(n) // then no client has it, and the change is of interest to none
	return change{ref.TypeURL, n}, true
}

// replace makes the state that of the snapshot and returns what changed.
func (s state) replace(with *Snapshot) []change {
	var changed []change
	keep := make(map[*Resource]struct{}, len(with.resources))
	for _, r := range with.resources {
		if c, ok := s.put(r); ok {
			changed = append(changed, c)
		}
		keep[s[r.TypeURL].slots[s[r.TypeURL].numbers[r.Name]].resource] = struct{}{}
	}
	for typeURL, t := range s {
		for _, sl := range t.slots {
			if sl.resource == nil {
				continue
			}
			if _, ok := keep[sl.resource]; ok {
				continue
			}
			if c, ok := s.drop(Ref{typeURL, sl.name}); ok {
				changed = append(changed, c)
			}
		}
		if t.users == 0 && len(t.numbers) == 0 {
			delete(s, typeURL)
		}
	}
	return changed
}

// stamp is a version as a word, from 1 to versionBits. Two versions of one
// resource have the same stamp with a probability of 2^-61.
func stamp(version string) uint64 {
	return max(1, maphash.String(stampSeed, version)&versionBits)
}

var stampSeed = maphash.MakeSeed()
