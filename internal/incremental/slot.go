package incremental

import "fmt"

// slot is what slots of all types have in common. A slot holds the entries of one key, see item. There are some forty
// slots for each service of a mesh, most with one entry: their size is most of the memory of a graph.
type slot struct {
	// readers is the only evaluation that reads the slot or, if there are several, the number of their list or set.
	readers uint32
	// cells is the first of the evaluations for the key.
	cells cellID
	// entries is the source of the only entry or, if there are several, their number in the relation.
	entries uint32
	// state holds, from the lowest bit, the readerKind, whether there are several entries, and the position. In one field,
	// they save a fifth of the slot.
	state uint32
}

const (
	kindBits     = 2
	severalBit   = 1 << kindBits
	positionFrom = kindBits + 1
)

func (s *slot) kind() readerKind { return readerKind(s.state & (severalBit - 1)) }

func (s *slot) setReaders(kind readerKind, readers uint32) {
	s.state, s.readers = s.state&^(severalBit-1)|uint32(kind), readers
}

func (s *slot) several() bool { return s.state&severalBit != 0 }

func (s *slot) setEntries(several bool, entries uint32) {
	s.state &^= severalBit
	if several {
		s.state |= severalBit
	}
	s.entries = entries
}

// position is the place of the slot among those that the running evaluation has read, if it is one of them.
func (s *slot) position() uint32 { return s.state >> positionFrom }

func (s *slot) setPosition(position uint32) {
	s.state = s.state&(1<<positionFrom-1) | position<<positionFrom
}

// slotID identifies a slot of a graph: the number of the relation and, in the lower bits, that of the slot.
type slotID uint32

const (
	placeBits = 22
	maxPlace  = 1<<placeBits - 1
	// maxRelations is the number of relations that a slotID can have.
	maxRelations = 1 << (32 - placeBits)
)

// relationSlots are the slots of a relation, without their types.
type relationSlots struct {
	declarations
	g      *Graph
	number uint32
	slots  pool[slot]
	// sources are the rules that are evaluated for each key, severalSources those for keys with several entries.
	sources, severalSources []*Rule
	typed                   typedSlots
}

// typedSlots is implemented by relations of any type.
type typedSlots interface {
	// replace replaces the entries of a slot that an evaluation has emitted: had is their number before.
	replace(place uint32, source cellID, had int, by []emission)
	update(place uint32)
	removeIfUnused(place uint32)
}

func (r *relationSlots) id(place uint32) slotID { return slotID(r.number<<placeBits | place) }

// addSlot returns the place of a new slot.
func (r *relationSlots) addSlot() uint32 {
	place := r.slots.add()
	if place > maxPlace {
		panic(fmt.Sprintf("incremental: relation %s has more than %d keys", r.relation, maxPlace))
	}
	return place
}

// find returns the relation of a slot, and its place there.
func (g *Graph) find(id slotID) (*relationSlots, uint32) {
	return g.relations[id>>placeBits], uint32(id & maxPlace)
}

func (g *Graph) slot(id slotID) *slot {
	r, place := g.find(id)
	return r.slots.at(place)
}

func (g *Graph) removeIfUnused(id slotID) {
	r, place := g.find(id)
	r.typed.removeIfUnused(place)
}

// enqueueAffected schedules the evaluations that read a slot, and those for its key.
func (r *relationSlots) enqueueAffected(place uint32) {
	s := r.slots.at(place)
	r.g.enqueueReaders(s)
	for _, rule := range r.sources {
		r.g.enqueue(r.cell(place, rule))
	}
	if s.several() {
		for _, rule := range r.severalSources {
			r.g.enqueue(r.cell(place, rule))
		}
	}
}

// cell returns the evaluation of a rule for the key of a slot.
func (r *relationSlots) cell(place uint32, of *Rule) cellID {
	s := r.slots.at(place)
	for id := s.cells; id != 0; {
		c := r.g.cells.at(uint32(id))
		if c.rule == of.number {
			return id
		}
		id = c.next
	}
	id := cellID(r.g.cells.add())
	*r.g.cells.at(uint32(id)) = cell{rule: of.number, at: r.id(place), next: s.cells}
	s.cells = id
	return id
}
