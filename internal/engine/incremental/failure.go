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

// call evaluates the rule. It reports whether the key has entries, and returns the value of a panic and its stack.
func (c *cell) call() (exists bool, panicked any, stack []byte) {
	g := c.rule.g
	defer func() {
		g.running = nil
		if panicked = recover(); panicked != nil {
			stack = debug.Stack()
		}
	}()
	g.running = c.rule
	return c.rule.evaluateAt(c.at), nil, nil
}

// fail keeps what the last good evaluation emitted, and emits a failure. The cell reads what it has read then and now,
// so that it is evaluated again when any of it changes.
func (c *cell) fail(panicked any, stack []byte) {
	r, g := c.rule, c.rule.g
	f := Failure{FailureKey: FailureKey{Rule: r.name}, Text: fmt.Sprint(panicked)}
	f.Key, f.Value = c.rule.subject(c.at)
	for _, s := range c.reads {
		if read := s.lastRead(); *read != g.evaluations {
			*read = g.evaluations
			r.slots = append(r.slots, s)
		}
	}
	c.setReads(r.slots)
	for _, e := range r.emissions {
		e.in().removeIfUnused()
	}
	emits, repeated := make([]anyEntry, 0, len(c.emits)+1), false
	for _, e := range c.emits {
		if old, is := e.(*entry[FailureKey, Failure]); is && old.slot.relation == g.failures {
			repeated = g.failures.equal(old.value[0], f)
			continue
		}
		emits = append(emits, e)
	}
	if !r.readsFailures() {
		emits = append(emits, newEntry(g.failures.slot(f.FailureKey), f))
	}
	c.setEmits(emits)
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
