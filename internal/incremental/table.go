package incremental

import "hash/maphash"

// table finds the slots of a relation by key. It is a hash table with linear probing: a map would hold each key a
// second time.
type table[K comparable, V any] struct {
	// places are the numbers of the slots at the hashes of their keys, 0 for none. Their number is a power of two, and at
	// most three quarters are used.
	places []uint32
	used   int
	items  pages[item[K, V]]
}

// hashSeed makes collisions of keys that users choose unpredictable.
var hashSeed = maphash.MakeSeed()

// find returns the index of the key, or of the unused place for it. The table must not be empty.
func (t *table[K, V]) find(key K) uint64 {
	mask := uint64(len(t.places) - 1)
	i := maphash.Comparable(hashSeed, key) & mask
	for t.places[i] != 0 && t.items.at(t.places[i]).key != key {
		i = (i + 1) & mask
	}
	return i
}

// get returns the slot of a key, or 0.
func (t *table[K, V]) get(key K) uint32 {
	if t.used == 0 {
		return 0
	}
	return t.places[t.find(key)]
}

// put adds a slot, whose key has none.
func (t *table[K, V]) put(place uint32, key K) {
	if 4*(t.used+1) > 3*len(t.places) {
		t.resize(max(8, 2*len(t.places)))
	}
	t.items.cover(place)
	t.items.at(place).key = key
	t.places[t.find(key)] = place
	t.used++
}

func (t *table[K, V]) resize(places int) {
	old := t.places
	t.places = make([]uint32, places)
	for _, one := range old {
		if one != 0 {
			t.places[t.find(t.items.at(one).key)] = one
		}
	}
}

// remove removes the slot of a key.
func (t *table[K, V]) remove(key K) {
	gap := t.find(key)
	place := t.places[gap]
	t.used--
	if len(t.places) > 8 && 8*t.used < len(t.places) {
		t.places[gap] = 0
		t.resize(len(t.places) / 4)
	} else {
		t.closeGap(gap)
	}
	*t.items.at(place) = item[K, V]{}
}

// closeGap removes the slot at an index. Those behind it move up to it, unless their keys belong behind it.
func (t *table[K, V]) closeGap(gap uint64) {
	mask := uint64(len(t.places) - 1)
	for i := (gap + 1) & mask; t.places[i] != 0; i = (i + 1) & mask {
		first := maphash.Comparable(hashSeed, t.items.at(t.places[i]).key) & mask
		if (i-first)&mask >= (i-gap)&mask {
			t.places[gap] = t.places[i]
			gap = i
		}
	}
	t.places[gap] = 0
}
