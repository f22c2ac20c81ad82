package incremental

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
)

// FailureKey identifies an evaluation: a rule and a key of its source relation.
type FailureKey struct {
	Rule string
	Key  any
}

// Failure is an evaluation that ended with a panic.
type Failure struct {
	FailureKey
	// Value is the first entry of the key in the source relation.
	Value any
	// Text is the value of the panic.
	Text string
}

// Panic describes the panics of a rule in one run.
type Panic struct {
	// Failure is the first one.
	Failure
	// Stack is empty if all of the evaluations failed in the same way before the run.
	Stack []byte
	// Count is the number of evaluations that failed.
	Count int
}

func newFailures(g *Graph) *Relation[FailureKey, Failure] {
	return NewRelation[FailureKey](g, "failures", func(Failure, Failure) int { return 0 }, func(a, b Failure) bool {
		return reflect.DeepEqual(a, b)
	})
}

// Failures are the evaluations whose last attempt ended with a panic. What their last good attempts emitted stays. They
// are repeated when something changes that they have read. Rules that read Failures come after all others.
func (g *Graph) Failures() *Relation[FailureKey, Failure] { return g.failures }

// Panics lists the rules that had panics in the last run.
func (g *Graph) Panics() []Panic { return g.panics }

// readsFailures reports whether a rule reads Failures. Its own panics are not among them.
func (r *Rule) readsFailures() bool { return slices.Contains(r.reads, &r.g.failures.declarations) }

// call evaluates a rule. It reports whether the key has entries, and returns the value of a panic and its stack.
func (g *Graph) call(c *cell) (exists bool, panicked any, stack []byte) {
	defer func() {
		g.running = nil
		if panicked = recover(); panicked != nil {
			stack = debug.Stack()
		}
	}()
	g.running = g.rules[c.rule]
	_, place := g.find(c.at)
	return g.running.evaluateAt(place), nil, nil
}

// fail keeps what the last good evaluation emitted, and emits a failure. The cell reads what it has read then and now,
// so that it is evaluated again when any of it changes.
func (g *Graph) fail(id cellID, panicked any, stack []byte) {
	c, e := g.cells.at(uint32(id)), &g.evaluation
	r := g.rules[c.rule]
	f := Failure{FailureKey: FailureKey{Rule: r.name}, Text: fmt.Sprint(panicked)}
	_, place := g.find(c.at)
	f.Key, f.Value = r.subject(place)
	reads, emits := g.links(c)
	for _, at := range reads {
		e.addRead(g.slot(at), at)
	}
	g.setReads(id, e.reads)
	e.sort()
	for _, at := range slices.Compact(e.emits) {
		g.removeIfUnused(at)
	}
	emits = slices.Clone(emits)
	repeated := false
	if !r.readsFailures() {
		place := g.failures.slot(f.FailureKey)
		at, had := g.failures.id(place), 0
		if old, is := g.failures.emittedBy(id, place); is {
			had, repeated = 1, g.failures.equal(old, f)
		} else {
			i, _ := slices.BinarySearch(emits, at)
			emits = slices.Insert(emits, i, at)
		}
		g.failures.replace(place, id, had, []emission{{at, &[1]Failure{f}}})
	}
	g.setLinks(c, e.reads, emits)
	g.recordPanic(f, stack, repeated)
}

func (g *Graph) recordPanic(f Failure, stack []byte, repeated bool) {
	if repeated {
		stack = nil
	}
	for i := range g.panics {
		if p := &g.panics[i]; p.Rule == f.Rule {
			if p.Count++; len(p.Stack) == 0 && len(stack) > 0 {
				p.Failure, p.Stack = f, stack
			}
			return
		}
	}
	g.panics = append(g.panics, Panic{f, stack, 1})
}
