package incremental

import (
	"fmt"
	"slices"
)

// Rule is a function that is evaluated for each key of a relation, with the declarations of what it reads and emits.
type Rule struct {
	g           *Graph
	owner, name string
	// reads and emits are the declared relations. The source is the first that the rule reads, after Each.
	reads, emits []*declarations
	complete     bool
	// queue holds the pending evaluations. It may grow while other rules are evaluated.
	queue []*cell
	// evaluated is the cell of the running evaluation, slots and emissions are what it has read and emitted.
	evaluated *cell
	slots     []anySlot
	emissions []anyEntry
	// evaluateAt evaluates the rule for the key of a slot. It reports false if the slot has too few entries.
	evaluateAt func(anySlot) bool
	// subject returns the key of a slot and its first entry.
	subject func(anySlot) (key, value any)
}

// declarations are the rules that declare to use a relation.
type declarations struct {
	relation          string
	readers, emitters []*Rule
}

// NewRule adds a rule. Declare what it reads and emits, then call Each. The name is unique for the owner of the rule,
// see Graph.SetOwner.
func NewRule(g *Graph, name string) *Rule {
	if g.owner != "" {
		name = g.owner + ": " + name
	}
	if g.sealed {
		panic(fmt.Sprintf("incremental: rule %s is added after Seal", name))
	}
	if slices.ContainsFunc(g.rules, func(r *Rule) bool { return r.name == name }) {
		panic(fmt.Sprintf("incremental: two rules have the name %s", name))
	}
	r := &Rule{g: g, owner: g.owner, name: name}
	g.rules = append(g.rules, r)
	return r
}

// Name returns the owner and the name of the rule.
func (r *Rule) Name() string { return r.name }

// Reader is the access of a rule to a relation that it reads.
type Reader[K comparable, V any] struct {
	rule     *Rule
	relation *Relation[K, V]
}

// Reads declares that a rule reads a relation.
func Reads[K comparable, V any](r *Rule, relation *Relation[K, V]) *Reader[K, V] {
	r.declareRead(&relation.declarations)
	return &Reader[K, V]{r, relation}
}

func (r *Rule) declareRead(of *declarations) {
	r.mustBeOpen(of)
	r.reads = append(r.reads, of)
	of.readers = append(of.readers, r)
}

func (r *Rule) mustBeOpen(of *declarations) {
	if r.complete {
		panic(fmt.Sprintf("incremental: rule %s declares the use of relation %s after Each", r.name, of.relation))
	}
}

// Read returns the sorted entries of a key. The slice must not be modified.
func (r *Reader[K, V]) Read(key K) []V {
	r.rule.mustRun(&r.relation.declarations)
	s := r.relation.slot(key)
	if now := r.rule.g.evaluations; s.read != now {
		s.read = now
		r.rule.slots = append(r.rule.slots, s)
	}
	s.update()
	return s.values()
}

// Owners returns the owner of each entry of a key, in the order of Read: that of the rule that emits it, or "" for a
// fact.
func (r *Reader[K, V]) Owners(key K) []string {
	r.Read(key)
	var out []string
	for _, e := range r.relation.slots.get(key).all() {
		owner := ""
		if e.source != nil {
			owner = e.source.rule.owner
		}
		out = append(out, owner)
	}
	return out
}

// ReadFirst returns the first entry of a key.
func (r *Reader[K, V]) ReadFirst(key K) (V, bool) { return first(r.Read(key)) }

// Emitter is the access of a rule to a relation into which it emits.
type Emitter[K comparable, V any] struct {
	rule     *Rule
	relation *Relation[K, V]
}

// Emits declares that a rule emits into a relation.
func Emits[K comparable, V any](r *Rule, relation *Relation[K, V]) *Emitter[K, V] {
	r.mustBeOpen(&relation.declarations)
	r.emits = append(r.emits, &relation.declarations)
	relation.emitters = append(relation.emitters, r)
	return &Emitter[K, V]{r, relation}
}

// Emit adds an entry. The next evaluation of the same rule and key replaces it.
func (e *Emitter[K, V]) Emit(key K, value V) {
	e.rule.mustRun(&e.relation.declarations)
	e.rule.emissions = append(e.rule.emissions, newEntry(e.relation.slot(key), value))
}

// Last returns what the previous evaluation of the rule for its key emitted under a key, so that the running one can
// take parts of it. The result of the rule must not depend on it otherwise.
func (e *Emitter[K, V]) Last(key K) (V, bool) {
	e.rule.mustRun(&e.relation.declarations)
	for _, emitted := range e.rule.evaluated.emits {
		if last, ok := emitted.(*entry[K, V]); ok && last.slot.relation == e.relation && last.slot.key == key {
			return last.value[0], true
		}
	}
	var none V
	return none, false
}

// mustRun panics if a handle is used by another rule than the one that declared it, or outside of rules.
func (r *Rule) mustRun(relation *declarations) {
	switch running := r.g.running; running {
	case r:
	case nil:
		panic(fmt.Sprintf("incremental: a handle of rule %s for relation %s is used outside of the rule",
			r.name, relation.relation))
	default:
		panic(fmt.Sprintf("incremental: rule %s uses the handle of rule %s for relation %s",
			running.name, r.name, relation.relation))
	}
}

// Each completes a rule: f is evaluated for each key of the source relation with entries, and again when these or the
// entries that f has read change. access holds the handles of the rule: a handle, or a struct or a pointer to one with
// handles in its fields. Each panics if a handle in access is nil or belongs to another rule, and if access holds a
// relation or a graph.
func Each[A any, K comparable, V any](r *Rule, source *Relation[K, V], access A, f func(access A, key K, values []V)) {
	complete(r, source, access, 1, f)
	source.sources = append(source.sources, r)
}

// EachSeveral completes a rule like Each, but f is evaluated for keys with several entries only. Other keys need no
// memory for the rule.
func EachSeveral[A any, K comparable, V any](r *Rule, source *Relation[K, V], access A,
	f func(access A, key K, values []V)) {
	complete(r, source, access, 2, f)
	source.severalSources = append(source.severalSources, r)
}

func complete[A any, K comparable, V any](r *Rule, source *Relation[K, V], access A, least int,
	f func(access A, key K, values []V)) {
	checkAccess(r, access)
	r.declareRead(&source.declarations)
	r.complete = true
	r.evaluateAt = func(at anySlot) bool {
		s := at.(*slot[K, V])
		s.update()
		if len(s.values()) < least {
			return false
		}
		f(access, s.key, s.values())
		return true
	}
	r.subject = func(at anySlot) (key, value any) {
		s := at.(*slot[K, V])
		value, _ = first(s.values())
		return s.key, value
	}
}
