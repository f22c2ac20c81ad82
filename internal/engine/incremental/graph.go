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
	staleSlots  []anySlot
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
	queued bool
	of     interface {
		// evaluate runs the rule for the key of the cell, unless the key was removed.
		evaluate()
		// subject returns the key and its first entry.
		subject() (key, value any)
	}
	reads []anySlot
	emits []anyEmission
}

// anySlot is a slot of a relation of any type.
type anySlot interface {
	addReader(*cell)
	dropReader(*cell)
	updateValues()
	removeIfUnused()
}

// anyEmission is an entry that a cell has emitted into a slot of any type.
type anyEmission interface {
	// equal reports whether the other is an equal entry of the same slot.
	equal(anyEmission) bool
	slot() anySlot
	apply(*cell)
	retract(*cell)
}

// Evaluations returns the number of evaluations of all runs.
func (g *Graph) Evaluations() uint64 { return g.evaluations }

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
		n.updateValues()
	}
	g.staleSlots = nil
}

func (g *Graph) evaluate(c *cell) {
	r := c.rule
	g.evaluations++
	c.queued = false
	r.evaluated, r.slots, r.emissions = c, r.slots[:0], r.emissions[:0]
	if p, stack := c.call(); p != nil {
		c.fail(p, stack)
		return
	}
	c.setReads(r.slots)
	c.setEmits(r.emissions)
}

// enqueue schedules the evaluation of a cell.
func (c *cell) enqueue() {
	if !c.queued {
		c.queued = true
		c.rule.queue = append(c.rule.queue, c)
	}
}

// setReads replaces the slots that the cell reads by a copy of reads. Usually they are the same as before.
func (c *cell) setReads(reads []anySlot) {
	same := len(reads) == len(c.reads)
	for i := 0; same && i < len(reads); i++ {
		same = reads[i] == c.reads[i]
	}
	if same {
		return
	}
	old := c.reads
	for _, n := range reads {
		n.addReader(c)
	}
	kept := make(map[anySlot]struct{}, len(reads))
	for _, n := range reads {
		kept[n] = struct{}{}
	}
	for _, n := range old {
		if _, still := kept[n]; !still {
			n.dropReader(c)
		}
	}
	c.reads = slices.Clone(reads)
}

// setEmits replaces the entries that the cell emits by a copy of emits. Slots without a change are not marked as
// changed.
func (c *cell) setEmits(emits []anyEmission) {
	old := c.emits
	if len(old) == len(emits) {
		same := true
		for i := 0; same && i < len(old); i++ {
			same = old[i].equal(emits[i])
		}
		if same {
			return
		}
	}
	c.emits = slices.Clone(emits)
	before := make(map[anySlot][]anyEmission, len(old))
	for _, e := range old {
		before[e.slot()] = append(before[e.slot()], e)
	}
	var fresh []anyEmission
	for _, e := range emits {
		if !removeEqual(before, e) {
			fresh = append(fresh, e)
		}
	}
	for _, gone := range before {
		for _, e := range gone {
			e.retract(c)
		}
	}
	for _, e := range fresh {
		e.apply(c)
	}
}

// removeEqual removes an entry equal to e, and reports whether there was one.
func removeEqual(from map[anySlot][]anyEmission, e anyEmission) bool {
	list := from[e.slot()]
	for i, o := range list {
		if o.equal(e) {
			list[i] = list[len(list)-1]
			from[e.slot()] = list[:len(list)-1]
			return true
		}
	}
	return false
}
