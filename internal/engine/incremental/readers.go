package incremental

// fewReaders is the number of readers up to which a slice needs less memory than a map.
const fewReaders = 32

// readers is a set of evaluations.
type readers struct {
	few  []*cell
	many map[*cell]struct{} // nil for few
}

func (r *readers) empty() bool { return len(r.few)+len(r.many) == 0 }

// add adds an evaluation that is not in the set.
func (r *readers) add(c *cell) {
	if r.many == nil && len(r.few) < fewReaders {
		r.few = append(r.few, c)
		return
	}
	if r.many == nil {
		r.many = make(map[*cell]struct{}, 2*fewReaders)
		for _, old := range r.few {
			r.many[old] = struct{}{}
		}
		r.few = nil
	}
	r.many[c] = struct{}{}
}

func (r *readers) drop(c *cell) {
	if r.many != nil {
		if delete(r.many, c); len(r.many) == 0 {
			r.many = nil
		}
		return
	}
	for i, old := range r.few {
		if old == c {
			last := len(r.few) - 1
			r.few[i], r.few[last] = r.few[last], nil
			if r.few = r.few[:last]; last == 0 {
				r.few = nil
			}
			return
		}
	}
}

// enqueue schedules all evaluations.
func (r *readers) enqueue() {
	for _, c := range r.few {
		c.enqueue()
	}
	for c := range r.many {
		c.enqueue()
	}
}
