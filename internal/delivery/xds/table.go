package xds

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// state is what is published for one key now, by type.
type state map[string]*table

// table holds the resources of one type. Names have numbers, so that what a
// client has of a thousand resources are a thousand bytes, and not as many
// strings. A number stays with its name while there is a resource or a client
// with an entry for it.
type table struct {
	index  index
	slots  []slot
	free   []uint32
	users  int    // subscriptions
	digest uint64 // sum over the resources, so that one change costs one addition
	text   string // of the digest named, for all clients
	named  uint64
	todo   []uint32 // for whoever works out a response; they take turns
}

// enough is how many numbers todo keeps room for.
const enough = 64

// slot is a name: that of its resource, or of a bare one in place of it.
type slot struct {
	resource *Resource // nil if the slot is free
	refs     uint32    // clients with an entry
}

// change says what a publish changed.
type change struct {
	table  *table
	number uint32
	before *Resource // nil if there was none
}

// of finds or makes the table of a type.
func (s state) of(typeURL string) *table {
	t := s[typeURL]
	if t == nil {
		t = &table{}
		s[typeURL] = t
	}
	return t
}

// release takes a subscription off a table, and the table away if nobody needs it.
func (s state) release(typeURL string) {
	t := s[typeURL]
	if t.users--; t.users == 0 && t.index.used == 0 {
		delete(s, typeURL)
	}
}

func (t *table) name(n uint32) string { return t.slots[n].resource.Name }

// resource is what is published under a number, nil if nothing is.
func (t *table) resource(n uint32) *Resource {
	if r := t.slots[n].resource; r != nil && r.wire != nil {
		return r
	}
	return nil
}

// published is what is published under a name, nil if nothing is.
func (t *table) published(name string) *Resource {
	if n, ok := t.find(name); ok {
		return t.resource(n)
	}
	return nil
}

func (t *table) find(name string) (uint32, bool) { return t.index.find(name, t.name) }

// number finds or makes the number of a name.
func (t *table) number(name string) uint32 {
	if n, ok := t.find(name); ok {
		return n
	}
	var n uint32
	if last := len(t.free) - 1; last >= 0 {
		n, t.free = t.free[last], t.free[:last]
	} else {
		n = uint32(len(t.slots))
		t.slots = append(t.slots, slot{})
	}
	t.slots[n].resource = &Resource{Name: strings.Clone(name)} // it is cut out of a request
	t.index.add(name, n, t.name)
	return n
}

// tidy frees a number that stands for nothing any more.
func (t *table) tidy(n uint32) {
	if t.resource(n) == nil && t.slots[n].refs == 0 {
		t.index.remove(t.name(n), t.name)
		t.slots[n] = slot{}
		t.free = append(t.free, n)
	}
}

// version describes all resources of a type. Equal sets have equal versions.
func (t *table) version() string {
	if t.text == "" || t.named != t.digest {
		var digest [8]byte
		binary.BigEndian.PutUint64(digest[:], t.digest)
		t.text, t.named = hex.EncodeToString(digest[:]), t.digest
	}
	return t.text
}

// put says whether it changed anything.
func (s state) put(r *Resource) (change, bool) {
	t := s.of(r.TypeURL)
	n := t.number(r.Name)
	old := t.resource(n)
	if old != nil && old.Version == r.Version {
		return change{}, false
	}
	if old != nil {
		t.digest -= old.digest
	}
	t.slots[n].resource = r
	t.digest += r.digest
	return change{t, n, old}, true
}

// drop says whether it changed anything.
func (s state) drop(ref Ref) (change, bool) {
	t := s[ref.TypeURL]
	if t == nil {
		return change{}, false
	}
	n, known := t.find(ref.Name)
	if !known || t.resource(n) == nil {
		return change{}, false
	}
	old := t.resource(n)
	t.digest -= old.digest
	t.slots[n].resource = &Resource{Name: old.Name}
	t.tidy(n) // then no client has it, and the change is of interest to none
	return change{t, n, old}, true
}

// replace makes the state that of the snapshot and returns what changed.
func (s state) replace(with *Snapshot) []change {
	var changed []change
	for _, r := range with.resources {
		if c, ok := s.put(r); ok {
			changed = append(changed, c)
		}
	}
	for typeURL, t := range s {
		for n := range t.slots {
			if r := t.resource(uint32(n)); r != nil && !with.has(r) {
				if c, ok := s.drop(Ref{typeURL, r.Name}); ok {
					changed = append(changed, c)
				}
			}
		}
		if t.users == 0 && t.index.used == 0 {
			delete(s, typeURL)
		}
	}
	return changed
}
