package incremental

import "fmt"

// Graph holds relations and rules. It is not safe for concurrent use.
type Graph struct {
	rules []rule
	// queue holds the evaluations to do, by rule.
	queue   [][]*cell
	current int // the rule being run; outside between runs
	// stale are slots whose values have to be made anew before the outside may look.
	stale []node
	evals uint64
}

// New makes a graph without relations and rules.
func New() *Graph { return &Graph{current: outside} }

// outside is the rank of what comes from outside: before all rules.
const outside = -1

// rule is what the graph must know of a rule of any type.
type rule struct {
	name string
}

// cell is one evaluation of a rule: that for one key.
type cell struct {
	rank   int
	queued bool
	// evaluate runs the rule; it reports false when the key is gone, and the cell with it.
	evaluate func(*Task) bool
	reads    []node
	emits    []emission
}

// node is a slot of a relation of any type.
type node interface {
	addReader(*cell)
	dropReader(*cell)
	refresh()
}

// emission is an entry that a cell has put into a slot.
type emission interface {
	// equal tells whether the other puts an equal entry into the same slot.
	equal(emission) bool
	slot() node
	apply(*cell)
	retract(*cell)
}

// Task is one evaluation under way.
type Task struct {
	g     *Graph
	cell  *cell
	reads []node
	emits []emission
}

// Evaluations counts what Run has evaluated so far.
func (g *Graph) Evaluations() uint64 { return g.evals }

// Run brings all relations up to date.
func (g *Graph) Run() {
	for g.current = range g.rules {
		for len(g.queue[g.current]) > 0 {
			cells := g.queue[g.current]
			g.queue[g.current] = nil
			for _, c := range cells {
				g.evaluate(c)
			}
		}
	}
	g.current = outside
	for _, n := range g.stale {
		n.refresh()
	}
	g.stale = nil
}

func (g *Graph) evaluate(c *cell) {
	g.evals++
	c.queued = false
	t := &Task{g: g, cell: c}
	if !c.evaluate(t) {
		t.reads, t.emits = nil, nil
	}
	c.readNow(t.reads)
	c.emitNow(t.emits)
}

// enqueue notes that a cell has to be evaluated.
func (g *Graph) enqueue(c *cell) {
	if c.queued {
		return
	}
	if c.rank <= g.current {
		panic(fmt.Sprintf("incremental: rule %s changes what rule %s reads, which comes before it", g.rules[g.current].name, g.rules[c.rank].name))
	}
	c.queued = true
	g.queue[c.rank] = append(g.queue[c.rank], c)
}

// readNow replaces what the cell reads. Most evaluations read what they read before.
func (c *cell) readNow(reads []node) {
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
	kept := make(map[node]struct{}, len(reads))
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

// emitNow replaces what the cell emits; slots in which nothing changes do not notice.
func (c *cell) emitNow(emits []emission) {
	old := c.emits
	c.emits = emits
	if len(old) == len(emits) {
		same := true
		for i := 0; same && i < len(old); i++ {
			same = old[i].equal(emits[i])
		}
		if same {
			c.emits = old // lets go of the copies
			return
		}
	}
	before := make(map[node][]emission, len(old))
	for _, e := range old {
		before[e.slot()] = append(before[e.slot()], e)
	}
	var fresh []emission
	for _, e := range emits {
		if !takeEqual(before, e) {
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

// takeEqual removes an entry equal to e, if there is one.
func takeEqual(from map[node][]emission, e emission) bool {
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
