package xds

import "hash/maphash"

// index is a hash table from names to numbers with linear probing. It stores only the numbers; the names are in the
// table. A Go map would take several times the memory, for each workload with a thousand destinations.
type index struct {
	cells []uint32 // number+1, 0 means empty; the length is a power of two
	used  int
}

var indexSeed = maphash.MakeSeed()

func (x *index) home(name string) int {
	return int(maphash.String(indexSeed, name)) & (len(x.cells) - 1)
}

// cell returns the cell of the name, or the empty cell for it. There is always an empty cell.
func (x *index) cell(name string, nameOf func(uint32) string) int {
	at := x.home(name)
	for x.cells[at] != 0 && nameOf(x.cells[at]-1) != name {
		at = (at + 1) & (len(x.cells) - 1)
	}
	return at
}

func (x *index) find(name string, nameOf func(uint32) string) (uint32, bool) {
	if x.used == 0 {
		return 0, false
	}
	c := x.cells[x.cell(name, nameOf)]
	return c - 1, c != 0
}

// add adds a name that is not in the index.
func (x *index) add(name string, number uint32, nameOf func(uint32) string) {
	if 4*(x.used+1) > 3*len(x.cells) {
		old := x.cells
		x.cells = make([]uint32, max(8, 2*len(old)))
		for _, c := range old {
			if c != 0 {
				x.cells[x.cell(nameOf(c-1), nameOf)] = c
			}
		}
	}
	x.cells[x.cell(name, nameOf)] = number + 1
	x.used++
}

// remove removes a name that is in the index, and moves names of the same probe sequence up.
func (x *index) remove(name string, nameOf func(uint32) string) {
	hole := x.cell(name, nameOf)
	mask := len(x.cells) - 1
	for at := (hole + 1) & mask; x.cells[at] != 0; at = (at + 1) & mask {
		home := x.home(nameOf(x.cells[at] - 1))
		if (at-home)&mask >= (at-hole)&mask {
			x.cells[hole] = x.cells[at]
			hole = at
		}
	}
	x.cells[hole] = 0
	if x.used--; x.used == 0 {
		x.cells = nil
	}
}
