package incremental

import (
	"cmp"
	"slices"
)

// cell is the evaluation of a rule for one key.
type cell struct {
	// links are the slots that the evaluation has read, and those into which it has emitted: for each entry, sorted.
	links runID
	// reads is the number of the former.
	reads uint32
	at    slotID // the slot of the key
	next  cellID // of another rule for the same key
	rule  uint16
	// queued is true if the evaluation is scheduled.
	queued bool
}

// cellID is the number of a cell; 0 is the source of facts.
type cellID uint32

// evaluation is what the running evaluation, or the last one, has read and emitted.
type evaluation struct {
	cell  cellID
	reads []slotID
	// emissions are sorted by slot after the evaluation, and emits are their slots.
	emissions []emission
	emits     []slotID
	links     []slotID // a buffer for setLinks
}

// emission is an entry that an evaluation emits. The value is a *[1]V.
type emission struct {
	slot  slotID
	value any
}

// enqueue schedules an evaluation.
func (g *Graph) enqueue(id cellID) {
	if c := g.cells.at(uint32(id)); !c.queued {
		c.queued = true
		r := g.rules[c.rule]
		r.queue = append(r.queue, id)
	}
}

// evaluate evaluates a rule for a key, and records what it reads and emits.
func (g *Graph) evaluate(id cellID) {
	c, e := g.cells.at(uint32(id)), &g.evaluation
	g.evaluations++
	c.queued = false
	e.cell, e.reads, e.emissions, e.emits = id, e.reads[:0], e.emissions[:0], e.emits[:0]
	exists, p, stack := g.call(c)
	if p != nil {
		g.fail(id, p, stack)
		return
	}
	e.sort()
	g.setReads(id, e.reads)
	g.setEmits(id, e.emissions)
	g.setLinks(c, e.reads, e.emits)
	clear(e.emissions)
	if !exists {
		g.dropCell(id)
	}
}

// sort sorts the emissions by slot, and lists their slots.
func (e *evaluation) sort() {
	slices.SortFunc(e.emissions, func(a, b emission) int { return cmp.Compare(a.slot, b.slot) })
	for _, one := range e.emissions {
		e.emits = append(e.emits, one.slot)
	}
}

// links returns the slots that an evaluation has read, and those into which it has emitted.
func (g *Graph) links(c *cell) (reads, emits []slotID) {
	all := g.linkRuns.get(c.links)
	return all[:c.reads], all[c.reads:]
}

// setLinks replaces the links by copies. Usually they are the same as before.
func (g *Graph) setLinks(c *cell, reads, emits []slotID) {
	if oldReads, oldEmits := g.links(c); slices.Equal(oldReads, reads) && slices.Equal(oldEmits, emits) {
		return
	}
	g.linkRuns.remove(c.links)
	g.evaluation.links = append(append(g.evaluation.links[:0], reads...), emits...)
	c.links, c.reads = g.linkRuns.add(g.evaluation.links), uint32(len(reads))
}

// setReads makes the evaluation a reader of the slots that it has read, and not of others that it read before.
func (g *Graph) setReads(id cellID, reads []slotID) {
	old, _ := g.links(g.cells.at(uint32(id)))
	if slices.Equal(reads, old) {
		return
	}
	known := make([]bool, len(reads))
	for _, at := range old {
		s := g.slot(at)
		if s.isAmong(reads, at) {
			known[s.position()] = true
		} else {
			g.dropReader(s, id)
			g.removeIfUnused(at)
		}
	}
	for i, at := range reads {
		if !known[i] {
			g.addReader(g.slot(at), id)
		}
	}
}

// isAmong reports whether the slot is among those that the running evaluation has read.
func (s *slot) isAmong(reads []slotID, id slotID) bool {
	return int(s.position()) < len(reads) && reads[s.position()] == id
}

// addRead adds a slot to those that the running evaluation has read.
func (e *evaluation) addRead(s *slot, id slotID) {
	if !s.isAmong(e.reads, id) {
		s.setPosition(uint32(len(e.reads)))
		e.reads = append(e.reads, id)
	}
}

// setEmits replaces the entries that the evaluation has emitted. Equal entries stay: their slots are not marked as
// changed. The emissions are sorted by slot, and the order in a slot may change.
func (g *Graph) setEmits(id cellID, emissions []emission) {
	_, old := g.links(g.cells.at(uint32(id)))
	for len(old)+len(emissions) > 0 {
		var at slotID
		if len(emissions) == 0 || len(old) > 0 && old[0] < emissions[0].slot {
			at = old[0]
		} else {
			at = emissions[0].slot
		}
		had, has := 0, 0
		for had < len(old) && old[had] == at {
			had++
		}
		for has < len(emissions) && emissions[has].slot == at {
			has++
		}
		r, place := g.find(at)
		r.typed.replace(place, id, had, emissions[:has])
		old, emissions = old[had:], emissions[has:]
	}
}

// dropCell removes an evaluation that neither reads nor emits.
func (g *Graph) dropCell(id cellID) {
	c := g.cells.at(uint32(id))
	at := c.at
	link := &g.slot(at).cells
	for *link != id {
		link = &g.cells.at(uint32(*link)).next
	}
	*link = c.next
	g.cells.remove(uint32(id))
	g.removeIfUnused(at)
}
