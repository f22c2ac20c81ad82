package xds

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// state holds the published resources of one key, by type URL.
type state map[string]*table

// table holds the resources of one type. Each name has a number, so that the state of a client for a thousand
// resources takes a thousand bytes, without strings. A name keeps its number while it has a resource or a client has
// an entry for it.
type table struct {
	index         index
	slots         []*Resource // a name is in its resource, or in a placeholder without content; nil if it is free
	refs          []uint32    // number of clients with an entry; empty until there is one
	free          []uint32
	subscribers   int    // number of subscriptions
	digest        uint64 // sum of the digests of all resources: one change costs one addition
	versionText   string // text form of versionDigest, shared by all clients
	versionDigest uint64
	next          uint32 // the number after the last one that was found
}

// change is one change of the published resources.
type change struct {
	table  *table
	number uint32
	before *Resource // nil if there was none
}

// name returns the name of the changed resource.
func (c change) name() string {
	if c.before != nil {
		return c.before.Name
	}
	return c.table.name(c.number)
}

// of returns the table of a type, and creates it if needed.
func (s state) of(typeURL string) *table {
	t := s[typeURL]
	if t == nil {
		t = &table{}
		s[typeURL] = t
	}
	return t
}

// release removes a subscription from a table, and the table if it is unused.
func (s state) release(typeURL string) {
	t := s[typeURL]
	if t.subscribers--; t.subscribers == 0 && t.index.used == 0 {
		delete(s, typeURL)
	}
}

func (t *table) name(n uint32) string { return t.slots[n].Name }

// resource returns the published resource with the number, or nil.
func (t *table) resource(n uint32) *Resource {
	if r := t.slots[n]; r != nil && r.deltaField != nil {
		return r
	}
	return nil
}

// published returns the published resource with the name, or nil.
func (t *table) published(name string) *Resource {
	if n, ok := t.find(name); ok {
		return t.resource(n)
	}
	return nil
}

// find returns the number of a name. It looks behind the last one first: clients mostly name resources in their order.
func (t *table) find(name string) (uint32, bool) {
	if at := t.next; int(at) < len(t.slots) && t.slots[at] != nil && t.slots[at].Name == name {
		t.next++
		return at, true
	}
	n, known := t.index.find(name, t.name)
	if known {
		t.next = n + 1
	}
	return n, known
}

// number returns the number of a name, and assigns one if needed.
func (t *table) number(name string) uint32 {
	if n, ok := t.find(name); ok {
		return n
	}
	return t.assign(&Resource{Name: strings.Clone(name)}) // name is a substring of a request
}

// assign assigns a number to the name of a resource or placeholder.
func (t *table) assign(r *Resource) uint32 {
	var n uint32
	if last := len(t.free) - 1; last >= 0 {
		n, t.free = t.free[last], t.free[:last]
	} else {
		n = uint32(len(t.slots))
		t.slots = append(t.slots, nil)
	}
	t.slots[n] = r
	t.index.add(r.Name, n, t.name)
	return n
}

func (t *table) refsOf(n uint32) uint32 {
	if int(n) < len(t.refs) {
		return t.refs[n]
	}
	return 0
}

// addRef counts a client with an entry.
func (t *table) addRef(n uint32) {
	if more := len(t.slots) - len(t.refs); int(n) >= len(t.refs) {
		t.refs = append(t.refs, make([]uint32, more)...)
	}
	t.refs[n]++
}

func (t *table) removeRef(n uint32) { t.refs[n]-- }

// freeIfUnused frees a number without resource and without clients.
func (t *table) freeIfUnused(n uint32) {
	if t.resource(n) == nil && t.refsOf(n) == 0 {
		t.index.remove(t.name(n), t.name)
		t.slots[n] = nil
		t.free = append(t.free, n)
	}
}

// version identifies the set of all resources of the type. Equal sets have equal versions.
func (t *table) version() string {
	if t.versionText == "" || t.versionDigest != t.digest {
		var digest [8]byte
		binary.BigEndian.PutUint64(digest[:], t.digest)
		t.versionText, t.versionDigest = hex.EncodeToString(digest[:]), t.digest
	}
	return t.versionText
}

// place is where a table had a resource, before another one replaced it. Workloads that reach the same services mostly
// have their resources in the same places: a look there is faster than a search.
type place struct {
	number uint32
	before *Resource // nil if there was none
}

// put adds or replaces a resource, and reports whether anything changed. It looks at a place of the resource in another
// state first, and changes it to that in this one.
func (s state) put(r *Resource, at *place) (change, bool) {
	t := s.of(r.TypeURL)
	n, known := at.number, at.before != nil && int(at.number) < len(t.slots) && t.slots[at.number] == at.before
	if !known {
		n, known = t.find(r.Name)
	}
	if !known {
		n = t.assign(r)
		t.digest += r.digest
		return change{t, n, nil}, true
	}
	old := t.resource(n)
	at.number, at.before = n, old
	if old != nil && old.Version == r.Version {
		return change{}, false
	}
	if old != nil {
		t.digest -= old.digest
	}
	t.slots[n] = r
	t.digest += r.digest
	return change{t, n, old}, true
}

// remove removes a resource, and reports whether anything changed.
func (s state) remove(ref Ref) (change, bool) {
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
	t.slots[n] = &Resource{Name: old.Name}
	t.freeIfUnused(n) // frees the number if no client has the resource; then no client needs the change
	return change{t, n, old}, true
}

// fill adds a snapshot to an empty state. The resources that it shares with other snapshots are not added one by one:
// their tables are copied.
func (s state) fill(snapshot *Snapshot) {
	more := map[string]int{}
	for _, r := range snapshot.resources {
		more[r.TypeURL]++
	}
	if base := snapshot.base; base != nil {
		base.once.Do(func() {
			base.tables = state{}
			base.tables.fill(base)
		})
		for typeURL, t := range base.tables {
			s[typeURL] = t.clone(more[typeURL])
		}
	}
	for typeURL, n := range more {
		if s[typeURL] == nil {
			s[typeURL] = newTable(n)
		}
	}
	for _, r := range snapshot.resources {
		t := s[r.TypeURL]
		t.assign(r)
		t.digest += r.digest
	}
}

// newTable returns an empty table with room for so many resources.
func newTable(resources int) *table {
	t := &table{slots: make([]*Resource, 0, resources)}
	t.index.reserve(resources)
	return t
}

// clone returns a table with the same resources, without clients, and with room for more.
func (t *table) clone(more int) *table {
	return &table{
		index: t.index.clone(), slots: append(make([]*Resource, 0, len(t.slots)+more), t.slots...), digest: t.digest,
	}
}

// replace replaces the state with the snapshot, and returns the changes. It returns none for a state without tables,
// which no subscription refers to.
func (s state) replace(snapshot *Snapshot) []change {
	if len(s) == 0 {
		s.fill(snapshot)
		return nil
	}
	var changed []change
	for _, r := range snapshot.Resources() {
		if c, ok := s.put(r, &place{}); ok {
			changed = append(changed, c)
		}
	}
	for typeURL, t := range s {
		for n := range t.slots {
			if r := t.resource(uint32(n)); r != nil && !snapshot.has(r) {
				if c, ok := s.remove(Ref{typeURL, r.Name}); ok {
					changed = append(changed, c)
				}
			}
		}
		if t.subscribers == 0 && t.index.used == 0 {
			delete(s, typeURL)
		}
	}
	return changed
}
