package incremental

// fewReaders is the number of readers up to which a slice needs less memory than a map.
const fewReaders = 32

// readers is a set of evaluations. Most slots have at most one reader.
type readers struct {
	one  *cell
	more *readerSet // the others; nil for none
}

type readerSet struct {
	few  []*cell
	many map[*cell]struct{} // nil for few
}

func (r *readers) empty() bool { return r.one == nil && r.more == nil }

// add adds an evaluation that is not in the set.
func (r *readers) add(c *cell) {
	switch {
	case r.one == nil:
		r.one = c
	case r.more == nil:
		r.more = &readerSet{few: []*cell{c}}
	default:
		r.more.add(c)
	}
}

func (s *readerSet) add(c *cell) {
	if s.many == nil && len(s.few) < fewReaders {
		s.few = append(s.few, c)
		return
	}
	if s.many == nil {
		s.many = make(map[*cell]struct{}, 2*fewReaders)
		for _, old := range s.few {
			s.many[old] = struct{}{}
		}
		s.few = nil
	}
	s.many[c] = struct{}{}
}

func (r *readers) drop(c *cell) {
	if r.one == c {
		r.one = nil
	} else if r.more != nil && r.more.drop(c) {
		r.more = nil
	}
}

// drop reports whether the set is empty without the evaluation.
func (s *readerSet) drop(c *cell) bool {
	if s.many != nil {
		delete(s.many, c)
		return len(s.many) == 0
	}
	for i, old := range s.few {
		if old == c {
			last := len(s.few) - 1
			s.few[i], s.few[last] = s.few[last], nil
			s.few = s.few[:last]
			break
		}
	}
	return len(s.few) == 0
}

// enqueue schedules all evaluations.
func (r *readers) enqueue() {
	if r.one != nil {
		r.one.enqueue()
	}
	if r.more == nil {
		return
	}
	for _, c := range r.more.few {
		c.enqueue()
	}
	for c := range r.more.many {
		c.enqueue()
	}
}
