package incremental

import (
	"maps"
	"slices"
)

// Graph holds relations and rules. It is not safe for concurrent use.
type Graph struct {
	owner string
	// rules are in the order in which they were added, order in the order of their evaluation.
	rules, order []*Rule
	sealed       bool
	running      *Rule // the rule that Run evaluates; nil between runs
	// staleSlots are the slots whose values must be updated before the end of Run.
	staleSlots []anySlot
	// evaluations numbers the evaluations. Numbers are even.
	evaluations uint64
	ambiguous   map[string]struct{}
	failures    *Relation[FailureKey, Failure]
	panics      []Panic // of the last run
}

// New creates a graph without relations and rules.
func New() *Graph {
	g := &Graph{ambiguous: map[string]struct{}{}}
	g.failures = newFailures(g)
	return g
}

// SetOwner sets the owner of the rules that are added from now on, for example the name of a dialect.
func (g *Graph) SetOwner(owner string) { g.owner = owner }

// cell is the state of a rule for one key.
type cell struct {
	rule   *Rule
	at     anySlot // the slot of the key
	reads  []anySlot
	emits  []anyEntry
	queued bool
}

// Evaluations returns the number of evaluations of all runs.
func (g *Graph) Evaluations() uint64 { return g.evaluations / 2 }

// Ambiguities lists the relations that had different entries without an order: the result may depend on the order of
// events. Tests check that there are none.
func (g *Graph) Ambiguities() []string { return slices.Sorted(maps.Keys(g.ambiguous)) }

// Run updates all relations.
func (g *Graph) Run() {
	g.Seal()
	g.panics = nil
	for _, r := range g.order {
		cells := r.queue
		r.queue = nil // a rule is not enqueued while it or a later rule is evaluated
		for _, c := range cells {
			g.evaluate(c)
		}
	}
	for _, n := range g.staleSlots {
		n.update()
	}
	g.staleSlots = nil
}

func (g *Graph) evaluate(c *cell) {
	r := c.rule
	g.evaluations += 2
	c.queued = false
	r.evaluated, r.slots, r.emissions = c, r.slots[:0], r.emissions[:0]
	exists, p, stack := c.call()
	if p != nil {
		c.fail(p, stack)
		return
	}
	c.setReads(r.slots)
	c.setEmits(r.emissions)
	if !exists {
		c.at.dropCell(c)
	}
}

// enqueue schedules the evaluation of a cell.
func (c *cell) enqueue() {
	if !c.queued {
		c.queued = true
		c.rule.queue = append(c.rule.queue, c)
	}
}

// setReads replaces the slots that the cell reads by a copy of reads, which were read in this evaluation. Usually they
// are the same as before.
func (c *cell) setReads(reads []anySlot) {
	if slices.Equal(reads, c.reads) {
		return
	}
	now := c.rule.g.evaluations
	old := c.reads
	for _, s := range old {
		if read := s.lastRead(); *read == now {
			*read = now + 1 // it is a reader already
		}
	}
	for _, s := range reads {
		if *s.lastRead() == now {
			s.addReader(c)
		}
	}
	for _, s := range old {
		if *s.lastRead() != now+1 {
			s.dropReader(c)
		}
	}
	c.reads = slices.Clone(reads)
}

// setEmits replaces the entries that the cell emits by a copy of emits. Equal entries stay: their slots are not marked
// as changed.
func (c *cell) setEmits(emits []anyEntry) {
	old := c.emits
	if slices.EqualFunc(old, emits, anyEntry.equal) {
		return
	}
	c.emits = slices.Clone(emits)
	if len(old) == 0 {
		for _, e := range emits {
			e.insert(c)
		}
		return
	}
	before := make(map[anySlot][]anyEntry, len(old))
	for _, e := range old {
		before[e.in()] = append(before[e.in()], e)
	}
	var fresh []anyEntry
	for i, e := range emits {
		if same := takeEqual(before, e); same != nil {
			c.emits[i] = same
		} else {
			fresh = append(fresh, e)
		}
	}
	for _, gone := range before {
		for _, e := range gone {
			e.remove()
		}
	}
	for _, e := range fresh {
		e.insert(c)
	}
}

// takeEqual removes and returns an entry equal to e, or nil if there is none.
func takeEqual(from map[anySlot][]anyEntry, e anyEntry) anyEntry {
	list := from[e.in()]
	for i, same := range list {
		if same.equal(e) {
			list[i] = list[len(list)-1]
			from[e.in()] = list[:len(list)-1]
			return same
		}
	}
	return nil
}
