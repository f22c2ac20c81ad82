package incremental

import (
	"maps"
	"reflect"
	"slices"
)

// Graph holds relations and rules. It is not safe for concurrent use.
type Graph struct {
	owner string
	// rules are in the order in which they were added, order in the order of their evaluation.
	rules, order []*Rule
	sealed       bool
	running      *Rule // the rule that Run evaluates; nil between runs
	relations    []*relationSlots
	cells        pool[cell]
	linkRuns     runs[slotID]
	readers      runs[cellID]
	readerSets   pool[readerSet]
	// staleSlots are the slots whose values must be updated before the end of Run.
	staleSlots  []slotID
	evaluation  evaluation // the running or the last one
	evaluations uint64     // the number of all
	ambiguous   map[string]struct{}
	failures    *Relation[FailureKey, Failure]
	panics      []Panic // of the last run
	shared      map[reflect.Type]any
}

// New creates a graph without relations and rules.
func New() *Graph {
	g := &Graph{ambiguous: map[string]struct{}{}, shared: map[reflect.Type]any{}}
	g.failures = newFailures(g)
	return g
}

// SetOwner sets the owner of the rules that are added from now on, for example the name of a dialect.
func (g *Graph) SetOwner(owner string) { g.owner = owner }

// Owner returns the owner that SetOwner has set.
func (g *Graph) Owner() string { return g.owner }

// Shared returns what rules of several owners share in a graph, for example relations with the rules between them. The
// first call for a type creates it; the rules that create adds belong to owner.
func Shared[T any](g *Graph, owner string, create func() T) T {
	key := reflect.TypeFor[T]()
	if known, has := g.shared[key]; has {
		return known.(T)
	}
	before := g.owner
	g.owner = owner
	out := create()
	g.owner = before
	g.shared[key] = out
	return out
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
		for _, id := range cells {
			g.evaluate(id)
		}
	}
	for _, id := range g.staleSlots {
		r, place := g.find(id)
		r.typed.update(place)
	}
	g.staleSlots = nil
	if cap(g.evaluation.links)+cap(g.evaluation.emissions) > maxKeptLinks {
		g.evaluation = evaluation{}
	}
}

// maxKeptLinks is the number of links and emissions of an evaluation up to which their memory is used again.
const maxKeptLinks = 10_000
