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
	// number is the place of the rule in the graph, once that is sealed.
	number uint16
	// queue holds the pending evaluations. It may grow while other rules are evaluated.
	queue []cellID
	// evaluateAt evaluates the rule for the key of a slot. It reports false if the slot has too few entries.
	evaluateAt func(place uint32) bool
	// subject returns the key of a slot and its first entry.
	subject func(place uint32) (key, value any)
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
	place := r.relation.slot(key)
	r.rule.g.evaluation.addRead(r.relation.slots.at(place), r.relation.id(place))
	r.relation.update(place)
	return r.relation.values(place)
}

// Owners returns the owner of each entry of a key, in the order of Read: that of the rule that emits it, or "" for a
// fact.
func (r *Reader[K, V]) Owners(key K) []string {
	r.Read(key)
	var out []string
	g := r.rule.g
	for _, source := range r.relation.sourcesOf(r.relation.table.get(key)) {
		owner := ""
		if source != 0 {
			owner = g.rules[g.cells.at(uint32(source)).rule].owner
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

// Emit adds an entry. The next evaluation of the same rule and key replaces it. Other entries may have the reference to
// the value, which must not be modified.
func (e *Emitter[K, V]) Emit(key K, value V) *V {
	e.rule.mustRun(&e.relation.declarations)
	now := &e.rule.g.evaluation
	emitted := &[1]V{value}
	now.emissions = append(now.emissions, emission{e.relation.id(e.relation.slot(key)), emitted})
	return &emitted[0]
}

// Last returns what the previous evaluation of the rule for its key emitted under a key, so that the running one can
// take parts of it. The result of the rule must not depend on it otherwise.
func (e *Emitter[K, V]) Last(key K) (V, bool) {
	e.rule.mustRun(&e.relation.declarations)
	if place := e.relation.table.get(key); place != 0 {
		return e.relation.emittedBy(e.rule.g.evaluation.cell, place)
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
	r.evaluateAt = func(place uint32) bool {
		source.update(place)
		values := source.values(place)
		if len(values) < least {
			return false
		}
		f(access, source.table.items.at(place).key, values)
		return true
	}
	r.subject = func(place uint32) (key, value any) {
		value, _ = first(source.values(place))
		return source.table.items.at(place).key, value
	}
}
