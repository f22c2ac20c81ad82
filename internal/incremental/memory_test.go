package incremental

import (
	"fmt"
	"testing"
)

// left describes the slots, cells and lists that are used, or is empty.
func left(g *Graph) (text string) {
	for _, r := range g.relations {
		if n := r.slots.used(); n != 0 {
			text += fmt.Sprintf("%d slots of %s, ", n, r.relation)
		}
	}
	cells, sets, links, lists := g.cells.used(), g.readerSets.used(), g.linkRuns.usedLists(), g.readers.usedLists()
	if cells+sets+links+lists != 0 {
		text += fmt.Sprintf("%d cells, %d sets and %d lists of readers, %d lists of links", cells, sets, lists, links)
	}
	return text
}

// usedLists is the number of lists.
func (r *runs[T]) usedLists() int {
	n := r.large.used()
	for _, page := range r.pages {
		for at := 1; at < len(page) && page[at] != 0; at += 1 + int(page[at]) {
			n++
		}
	}
	for _, free := range r.free {
		n -= len(free)
	}
	return n
}

// Any number of evaluations may read a key: each is repeated after a change, and no other one.
func TestReadersOfOneKey(t *testing.T) {
	g := New()
	people, shared := newTestRelation[int, int](g, "people"), newTestRelation[string, int](g, "shared")
	sums := newTestRelation[int, int](g, "sums")
	type access struct {
		shared *Reader[string, int]
		sums   *Emitter[int, int]
	}
	r := NewRule(g, "sum")
	Each(r, people, access{Reads(r, shared), Emits(r, sums)}, func(a access, person int, values []int) {
		if values[0] > 0 { // the others do not read the key
			first, _ := a.shared.ReadFirst("one")
			a.sums.Emit(person, values[0]+first)
		}
	})
	const most = 3 * fewReaders
	for step := range 2 * most {
		readers := min(step, 2*most-step)
		for person := range most {
			if value := 1; person < readers {
				people.Set(person, value)
			} else {
				people.Set(person, -value)
			}
		}
		g.Run()
		before := g.Evaluations()
		shared.Set("one", step)
		g.Run()
		if n := g.Evaluations() - before; n != uint64(readers) {
			t.Fatalf("%d of %d readers were evaluated", n, readers)
		}
		for person := range most {
			got, is := sums.GetFirst(person)
			if is != (person < readers) || is && got != 1+step {
				t.Fatalf("step %d with %d readers: person %d got %d, %t", step, readers, person, got, is)
			}
		}
	}
	for person := range most {
		people.Delete(person)
	}
	shared.Delete("one")
	g.Run()
	if left := left(g); left != "" {
		t.Errorf("without facts, these are left: %s", left)
	}
}
