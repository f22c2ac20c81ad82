package xds

import "hash/maphash"

// index finds the number of a name. It keeps the numbers only and leaves the
// names where they are anyway: a map would cost several times as much for each
// workload that reaches a thousand destinations.
type index struct {
	cells []uint32 // number+1 at its hash or after it, 0 is empty; a power of two of them
	used  int
}

var indexSeed = maphash.MakeSeed()

func (x *index) home(name string) int {
	return int(maphash.String(indexSeed, name)) & (len(x.cells) - 1)
}

// cell is where the name is, or where it belongs if it is not there. There is always an empty cell.
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

// add puts in a name that is not there.
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

// remove takes out a name that is there, and moves up those that had to make way for it.
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
