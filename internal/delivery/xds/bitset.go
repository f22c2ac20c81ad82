package xds

import (
	"iter"
	"math/bits"
)

// bitset is a set of numbers of a table: a thousand resources take 125 bytes.
type bitset struct {
	words []uint64
	count int
}

func (b *bitset) has(n uint32) bool {
	return int(n/64) < len(b.words) && b.words[n/64]&(1<<(n%64)) != 0
}

func (b *bitset) add(n uint32) {
	if b.has(n) {
		return
	}
	if more := int(n/64) + 1 - len(b.words); more > 0 {
		b.words = append(b.words, make([]uint64, more)...)
	}
	b.words[n/64] |= 1 << (n % 64)
	b.count++
}

func (b *bitset) remove(n uint32) {
	if b.has(n) {
		b.words[n/64] &^= 1 << (n % 64)
		b.count--
	}
}

// all lists the numbers in ascending order. The one that is yielded may be removed meanwhile.
func (b *bitset) all() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i, word := range b.words {
			for ; word != 0; word &= word - 1 {
				if !yield(uint32(i*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}
