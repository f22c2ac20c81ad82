package incremental

import "fmt"

// Graph holds relations and rules. It is not safe for concurrent use.
type Graph struct {
	rules []rule
	// queue holds the pending evaluations of each rule.
	queue       [][]*cell
	currentRule int // the rule that Run evaluates; externalRank between runs
	// staleSlots are the slots whose values must be updated before the end of Run.
	staleSlots  []anySlot
	evaluations uint64
}

// New creates a graph without relations and rules.
func New() *Graph { return &Graph{currentRule: externalRank} }

// externalRank is the rank of facts set from outside: before all rules.
const externalRank = -1

// rule is the part of a rule that does not depend on its types.
type rule struct {
	name string
}

// cell is the state of a rule for one key.
type cell struct {
	rank   int
	queued bool
	// evaluate runs the rule. It returns false if the key, and with it the cell, was removed.
	evaluate func(*Evaluation) bool
	reads    []anySlot
	emits    []anyEmission
}

// anySlot is a slot of a relation of any type.
type anySlot interface {
	addReader(*cell)
	dropReader(*cell)
	updateValues()
}

// anyEmission is an entry that a cell has emitted into a slot of any type.
type anyEmission interface {
	// equal reports whether the other is an equal entry of the same slot.
	equal(anyEmission) bool
	slot() anySlot
	apply(*cell)
	retract(*cell)
}

// Evaluation is a running evaluation of a rule.
type Evaluation struct {
	g     *Graph
	cell  *cell
	reads []anySlot
	emits []anyEmission
}

// Evaluations returns the number of evaluations of all runs.
func (g *Graph) Evaluations() uint64 { return g.evaluations }

// Run updates all relations.
func (g *Graph) Run() {
	for g.currentRule = range g.rules {
		for len(g.queue[g.currentRule]) > 0 {
			cells := g.queue[g.currentRule]
			g.queue[g.currentRule] = nil
			for _, c := range cells {
				g.evaluate(c)
			}
		}
	}
	g.currentRule = externalRank
	for _, n := range g.staleSlots {
		n.updateValues()
	}
	g.staleSlots = nil
}

func (g *Graph) evaluate(c *cell) {
	g.evaluations++
	c.queued = false
	t := &Evaluation{g: g, cell: c}
	if !c.evaluate(t) {
		t.reads, t.emits = nil, nil
	}
	c.setReads(t.reads)
	c.setEmits(t.emits)
}

// enqueue schedules the evaluation of a cell.
func (g *Graph) enqueue(c *cell) {
	if c.queued {
		return
	}
	if c.rank <= g.currentRule {
		panic(fmt.Sprintf("incremental: rule %s changes what rule %s reads, which comes before it",
			g.rules[g.currentRule].name, g.rules[c.rank].name))
	}
	c.queued = true
	g.queue[c.rank] = append(g.queue[c.rank], c)
}

// setReads replaces the slots that the cell reads. Usually they are the same as before.
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
	c.reads = reads
}

// setEmits replaces the entries that the cell emits. Slots without a change are not marked as changed.
func (c *cell) setEmits(emits []anyEmission) {
	old := c.emits
	c.emits = emits
	if len(old) == len(emits) {
		same := true
		for i := 0; same && i < len(old); i++ {
			same = old[i].equal(emits[i])
		}
		if same {
			c.emits = old // frees the equal copies
			return
		}
	}
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
