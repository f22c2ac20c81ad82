package xds

import (
	"encoding/binary"
	"encoding/hex"
	"iter"
	"strings"
)

// table holds the resources of one type of a key: its own, and those that it shares with other keys. A number is that
// of the part, doubled, plus one for own resources: numbers of shared ones are the same in the tables of all keys.
type table struct {
	own    part
	shared *part    // nil if the key shares no resources of the type
	refs   []uint32 // number of clients with an entry for an own number; empty until there is one

	subscribers   int    // number of subscriptions
	versionText   string // text form of versionDigest, shared by all clients
	versionDigest uint64
	next          [2]uint32 // the number of each part after the last one that was found
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

func ownNumber(i uint32) uint32    { return i<<1 | 1 }
func sharedNumber(i uint32) uint32 { return i << 1 }
func isOwn(n uint32) bool          { return n&1 != 0 }

// partOf returns the part of a number.
func (t *table) partOf(n uint32) *part {
	if isOwn(n) {
		return &t.own
	}
	return t.shared
}

func (t *table) slot(n uint32) slot { return t.partOf(n).slots[n>>1] }

func (t *table) name(n uint32) string { return t.partOf(n).name(n >> 1) }

// known reports whether a number has a name.
func (t *table) known(n uint32) bool { return t.name(n) != "" }

// resource returns the published resource with the number, or nil.
func (t *table) resource(n uint32) *Resource { return t.partOf(n).resource(n >> 1) }

// published returns the published resource with the name, or nil.
func (t *table) published(name string) *Resource {
	if n, ok := t.findShared(name); ok && t.resource(n) != nil {
		return t.resource(n)
	}
	if n, ok := t.findOwn(name); ok {
		return t.resource(n)
	}
	return nil
}

func (t *table) findShared(name string) (uint32, bool) {
	if t.shared == nil {
		return 0, false
	}
	i, known := t.shared.find(name, &t.next[0])
	return sharedNumber(i), known
}

func (t *table) findOwn(name string) (uint32, bool) {
	i, known := t.own.find(name, &t.next[1])
	return ownNumber(i), known
}

// placeholder assigns an own number to a name without resource.
func (t *table) placeholder(name string) uint32 {
	return ownNumber(t.own.assign(strings.Clone(name), nil)) // name is a substring of a request
}

// numbers lists the numbers with a name.
func (t *table) numbers() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if t.shared != nil {
			for i := range t.shared.slots {
				if t.shared.slots[i].name != "" && !yield(sharedNumber(uint32(i))) {
					return
				}
			}
		}
		for i := range t.own.slots {
			if t.own.slots[i].name != "" && !yield(ownNumber(uint32(i))) {
				return
			}
		}
	}
}

// size returns the number of slots of the part of a number.
func (t *table) size(n uint32) int { return len(t.partOf(n).slots) }

// addRef counts a client with an entry. Entries for shared numbers are not counted: see Shared.
func (t *table) addRef(n uint32) {
	if !isOwn(n) {
		return
	}
	if more := len(t.own.slots) - len(t.refs); int(n>>1) >= len(t.refs) {
		t.refs = append(t.refs, make([]uint32, more)...)
	}
	t.refs[n>>1]++
}

func (t *table) removeRef(n uint32) {
	if isOwn(n) {
		t.refs[n>>1]--
	}
}

// freeIfUnused frees an own number without resource and without clients.
func (t *table) freeIfUnused(n uint32) {
	if i := n >> 1; isOwn(n) && t.own.resource(i) == nil && (int(i) >= len(t.refs) || t.refs[i] == 0) {
		t.own.drop(i)
	}
}

// removeOwn removes an own resource. Its number is free if no client has the resource; then no client needs the change.
func (t *table) removeOwn(name string) change {
	i, before := t.own.remove(name)
	t.freeIfUnused(ownNumber(i))
	return change{t, ownNumber(i), before}
}

// share takes the name of a shared number from the own ones, with the entries of clients. It returns the own resource
// with the name, or nil.
func (t *table) share(n uint32, sessions []*session) (before *Resource) {
	i, known := t.own.index.find(t.name(n), t.own.name)
	if !known {
		return nil
	}
	_, before = t.own.remove(t.name(n))
	moveAll(sessions, t, ownNumber(i), n)
	t.own.drop(i)
	return before
}

// version identifies the set of all resources of the type. Equal sets have equal versions.
func (t *table) version() string {
	sum := t.own.digest
	if t.shared != nil {
		sum += t.shared.digest
	}
	if t.versionText == "" || t.versionDigest != sum {
		t.versionText, t.versionDigest = versionText(sum), sum
	}
	return t.versionText
}

// versionText is the version of resources with a sum of digests.
func versionText(sum uint64) string {
	var digest [8]byte
	binary.BigEndian.PutUint64(digest[:], sum)
	return hex.EncodeToString(digest[:])
}

func (t *table) unused() bool { return t.subscribers == 0 && t.own.index.used == 0 }
