package incremental

import "hash/maphash"

// slotSet finds the slots of a relation by key: a hash table with linear probing. A map would hold each key a second
// time, which is a third of the memory of a slot.
type slotSet[K comparable, V any] struct {
	// table has a power of two of places, of which at most three quarters are used.
	table []*slot[K, V]
	used  int
}

// hashSeed makes collisions of keys that users choose unpredictable.
var hashSeed = maphash.MakeSeed()

// place returns the index of the key, or of the empty place for it. The table must not be empty.
func (s *slotSet[K, V]) place(key K) uint64 {
	mask := uint64(len(s.table) - 1)
	i := maphash.Comparable(hashSeed, key) & mask
	for s.table[i] != nil && s.table[i].key != key {
		i = (i + 1) & mask
	}
	return i
}

// get returns the slot of a key, or nil.
func (s *slotSet[K, V]) get(key K) *slot[K, V] {
	if s.used == 0 {
		return nil
	}
	return s.table[s.place(key)]
}

// put adds a slot, in place of another one with its key.
func (s *slotSet[K, V]) put(added *slot[K, V]) {
	if 4*(s.used+1) > 3*len(s.table) {
		s.resize(max(8, 2*len(s.table)))
	}
	i := s.place(added.key)
	if s.table[i] == nil {
		s.used++
	}
	s.table[i] = added
}

func (s *slotSet[K, V]) resize(places int) {
	old := s.table
	s.table = make([]*slot[K, V], places)
	for _, one := range old {
		if one != nil {
			s.table[s.place(one.key)] = one
		}
	}
}

// remove removes a slot, unless another one has its key.
func (s *slotSet[K, V]) remove(removed *slot[K, V]) {
	if s.get(removed.key) != removed {
		return
	}
	s.used--
	if len(s.table) > 8 && 8*s.used < len(s.table) {
		s.table[s.place(removed.key)] = nil
		s.resize(len(s.table) / 4)
		return
	}
	// The slots behind the gap move up to it, unless their keys belong behind it.
	mask := uint64(len(s.table) - 1)
	gap := s.place(removed.key)
	for i := (gap + 1) & mask; s.table[i] != nil; i = (i + 1) & mask {
		first := maphash.Comparable(hashSeed, s.table[i].key) & mask
		if (i-first)&mask >= (i-gap)&mask {
			s.table[gap] = s.table[i]
			gap = i
		}
	}
	s.table[gap] = nil
}
