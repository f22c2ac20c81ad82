package incremental

// fewReaders is the number of readers up to which a slice needs less memory than a map.
const fewReaders = 32

// readerSet is the set of the evaluations that read a slot. Most slots have at most one reader, and need no set.
type readerSet struct {
	few  []cellID
	many map[cellID]struct{} // nil for few
}

// addReader adds an evaluation that does not read the slot yet.
func (g *Graph) addReader(s *slot, id cellID) {
	switch {
	case s.severalReaders:
		g.readerSets.at(s.readers).add(id)
	case s.readers == 0:
		s.readers = uint32(id)
	default:
		set := g.readerSets.add()
		g.readerSets.at(set).few = []cellID{cellID(s.readers), id}
		s.readers, s.severalReaders = set, true
	}
}

func (s *readerSet) add(id cellID) {
	if s.many == nil && len(s.few) < fewReaders {
		s.few = append(s.few, id)
		return
	}
	if s.many == nil {
		s.many = make(map[cellID]struct{}, 2*fewReaders)
		for _, old := range s.few {
			s.many[old] = struct{}{}
		}
		s.few = nil
	}
	s.many[id] = struct{}{}
}

// dropReader removes an evaluation that reads the slot.
func (g *Graph) dropReader(s *slot, id cellID) {
	if !s.severalReaders {
		s.readers = 0
	} else if g.readerSets.at(s.readers).drop(id) {
		g.readerSets.remove(s.readers)
		s.readers, s.severalReaders = 0, false
	}
}

// drop reports whether the set is empty without the evaluation.
func (s *readerSet) drop(id cellID) bool {
	if s.many != nil {
		delete(s.many, id)
		return len(s.many) == 0
	}
	for i, old := range s.few {
		if old == id {
			last := len(s.few) - 1
			s.few[i] = s.few[last]
			s.few = s.few[:last]
			break
		}
	}
	return len(s.few) == 0
}

// enqueueReaders schedules all evaluations that read a slot.
func (g *Graph) enqueueReaders(s *slot) {
	switch {
	case s.severalReaders:
		set := g.readerSets.at(s.readers)
		for _, id := range set.few {
			g.enqueue(id)
		}
		for id := range set.many {
			g.enqueue(id)
		}
	case s.readers != 0:
		g.enqueue(cellID(s.readers))
	}
}
