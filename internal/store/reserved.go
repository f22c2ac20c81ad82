package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/incremental"
)

// allKey is the key of relations with a single key.
type allKey struct{}

// allocateRule assigns the reserved addresses of all names.
type allocateRule struct {
	ranges   []netip.Prefix
	reserved *incremental.Emitter[string, netip.Addr]
}

func (m *Mesh) addAllocateRule(g *incremental.Graph) {
	r := incremental.NewRule(g, "reserved addresses")
	incremental.Each(r, m.reservedNames, allocateRule{m.settings.ReservedRanges, incremental.Emits(r, m.reserved)},
		allocateRule.evaluate)
}

func (r allocateRule) evaluate(_ allKey, names []string) {
	for name, offset := range allocate(slices.Compact(slices.Clone(names)), rangeSize(r.ranges)) {
		for _, p := range r.ranges {
			r.reserved.Emit(name, addressAt(p, offset))
		}
	}
}

// hostKey returns the form of a host name in which names are compared.
func hostKey(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// rangeSize returns the number of addresses of the smallest range.
func rangeSize(ranges []netip.Prefix) uint32 {
	size := uint32(1) << 31
	for _, p := range ranges {
		size = min(size, uint32(1)<<min(p.Addr().BitLen()-p.Bits(), 31))
	}
	return size
}

// addressAt returns the address at an offset of a range.
func addressAt(p netip.Prefix, offset uint32) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	last := b[len(b)-4:]
	binary.BigEndian.PutUint32(last, binary.BigEndian.Uint32(last)|offset)
	a, _ := netip.AddrFromSlice(b) // valid: it has the length of an address
	return a
}

// allocate assigns an offset below size to each name, from 1: the first address of a range stays unused. size is a
// power of two. The result depends only on the set of names: names are served in the order of their hashes, each takes
// the first free offset of its own sequence. A name thus moves only if a name with a lower hash takes its offset. If
// there are more names than offsets, the last ones get none.
func allocate(names []string, size uint32) map[string]uint32 {
	type candidate struct {
		name       string
		hash       uint64
		next, step uint32
	}
	all := make([]candidate, 0, len(names))
	for _, name := range names {
		sum := sha256.Sum256([]byte(name))
		all = append(all, candidate{
			name, binary.BigEndian.Uint64(sum[:]),
			binary.BigEndian.Uint32(sum[8:]) % size,
			binary.BigEndian.Uint32(sum[12:]) | 1, // odd, so that the sequence has all offsets
		})
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), strings.Compare(a.name, b.name))
	})
	out := make(map[string]uint32, len(all))
	taken := make(map[uint32]bool, len(all)+1)
	taken[0] = true
	for _, c := range all {
		for tries := uint32(0); tries < size && len(taken) < int(size); tries++ {
			if !taken[c.next] {
				taken[c.next], out[c.name] = true, c.next
				break
			}
			c.next = (c.next + c.step) % size
		}
	}
	return out
}
