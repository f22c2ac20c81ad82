package cluster

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
)

// point is a place on the ring that belongs to an endpoint.
type point struct {
	hash uint64
	*Endpoint
}

// ring chooses the first endpoint after the hash. A change of one endpoint moves only its share of the keys.
type ring []point

// pointsPerWeight is the number of points of an endpoint of the weight 1.
const pointsPerWeight = 100

// maxPoints limits the points of a ring.
const maxPoints = 1 << 18

func newRing(all []*Endpoint) ring {
	total, divisor := 0, 0
	for _, e := range all {
		total += e.Weight
		divisor = gcd(e.Weight, divisor)
	}
	var r ring
	for _, e := range all {
		n := e.Weight
		if n > 0 {
			n = max(1, min(pointsPerWeight*n/divisor, int(int64(maxPoints)*int64(n)/int64(total))))
		}
		text := append([]byte(e.Address), make([]byte, 4)...)
		for i := range n {
			binary.BigEndian.PutUint32(text[len(e.Address):], uint32(i))
			r = append(r, point{hashOf(text), e})
		}
	}
	slices.SortFunc(r, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.Address, b.Address), cmp.Compare(a.Name, b.Name))
	})
	return r
}

func (ring) usesHash() {}

func (r ring) pick(hash uint64, tried []*Endpoint) *Endpoint {
	at := sort.Search(len(r), func(i int) bool { return r[i].hash >= hash })
	for i := range r {
		if e := r[(at+i)%len(r)].Endpoint; !slices.Contains(tried, e) {
			return e
		}
	}
	return nil
}

// maglev is the table of Maglev hashing: a choice without search, and a nearly equal share for each endpoint.
type maglev struct {
	all   []*Endpoint
	table []uint32 // indices of endpoints
}

// maglevSize is the size of the table, a prime.
const maglevSize = 65537

func newMaglev(all []*Endpoint) *maglev {
	m := &maglev{}
	most := 0
	for _, e := range all {
		if most = max(most, e.Weight); e.Weight > 0 {
			m.all = append(m.all, e)
		}
	}
	if len(m.all) == 0 {
		return m
	}
	slices.SortFunc(m.all, func(a, b *Endpoint) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Name, b.Name))
	})
	type state struct{ at, skip, credit uint64 }
	states := make([]state, len(m.all))
	for i, e := range m.all {
		h := hashOf([]byte(e.Address))
		states[i] = state{at: h % maglevSize, skip: hashOf(append([]byte(e.Address), 1))%(maglevSize-1) + 1}
	}
	m.table = make([]uint32, maglevSize)
	for filled := 0; ; {
		for i := range states {
			s := &states[i]
			if s.credit += uint64(m.all[i].Weight); s.credit < uint64(most) {
				continue // endpoints of a lower weight have fewer turns
			}
			s.credit -= uint64(most)
			for m.table[s.at] != 0 {
				s.at = (s.at + s.skip) % maglevSize
			}
			m.table[s.at] = uint32(i) + 1
			if filled++; filled == maglevSize {
				return m
			}
		}
	}
}

func (*maglev) usesHash() {}

func (m *maglev) pick(hash uint64, tried []*Endpoint) *Endpoint {
	if len(m.all) == 0 {
		return nil
	}
	at := hash % maglevSize
	for i := range uint64(64 * len(m.all)) {
		if e := m.all[m.table[(at+i)%maglevSize]-1]; !slices.Contains(tried, e) {
			return e
		}
	}
	for _, e := range m.all {
		if !slices.Contains(tried, e) {
			return e
		}
	}
	return nil
}
