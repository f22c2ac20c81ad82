package incremental

import "slices"

// fewReaders is the number of readers up to which a list is used in place of a map.
const fewReaders = maxRun

// readerSet holds the evaluations that read a slot with many readers.
type readerSet map[cellID]struct{}

// readerKind is the representation of the evaluations that read a slot: one, a list, or a set.
type readerKind uint8

const (
	oneReader readerKind = iota // or none
	severalReaders
	manyReaders
)

// addReader adds an evaluation that does not read the slot yet.
func (g *Graph) addReader(s *slot, id cellID) {
	switch {
	case s.kind() == manyReaders:
		(*g.readerSets.at(s.readers))[id] = struct{}{}
	case s.kind() == severalReaders:
		g.setReaders(s, append(g.readers.get(runID(s.readers)), id))
	case s.readers == 0:
		s.readers = uint32(id)
	default:
		g.setReaders(s, []cellID{cellID(s.readers), id})
	}
}

// dropReader removes an evaluation that reads the slot.
func (g *Graph) dropReader(s *slot, id cellID) {
	switch s.kind() {
	case manyReaders:
		if set := *g.readerSets.at(s.readers); len(set) > 1 {
			delete(set, id)
			return
		}
		g.readerSets.remove(s.readers)
		s.setReaders(oneReader, 0)
	case severalReaders:
		g.setReaders(s, slices.DeleteFunc(g.readers.get(runID(s.readers)), func(o cellID) bool { return o == id }))
	case oneReader:
		s.readers = 0
	}
}

// setReaders replaces the readers of a slot without a set by a list of at least one.
func (g *Graph) setReaders(s *slot, all []cellID) {
	before := *s
	switch {
	case len(all) == 1:
		s.setReaders(oneReader, uint32(all[0]))
	case len(all) <= fewReaders:
		s.setReaders(severalReaders, uint32(g.readers.add(all)))
	default:
		set := make(readerSet, 2*len(all))
		for _, id := range all {
			set[id] = struct{}{}
		}
		s.setReaders(manyReaders, g.readerSets.add())
		*g.readerSets.at(s.readers) = set
	}
	if before.kind() == severalReaders {
		g.readers.remove(runID(before.readers))
	}
}

// enqueueReaders schedules all evaluations that read a slot.
func (g *Graph) enqueueReaders(s *slot) {
	switch s.kind() {
	case manyReaders:
		for id := range *g.readerSets.at(s.readers) {
			g.enqueue(id)
		}
	case severalReaders:
		for _, id := range g.readers.get(runID(s.readers)) {
			g.enqueue(id)
		}
	case oneReader:
		if s.readers != 0 {
			g.enqueue(cellID(s.readers))
		}
	}
}
