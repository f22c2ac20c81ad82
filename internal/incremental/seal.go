package incremental

import (
	"fmt"
	"slices"
	"strings"
)

// Seal orders the rules: each comes after the rules that emit into the relations that it reads. It panics if rules form
// a cycle, or if a rule has no source. No rules can be added afterwards. Set and Run call it.
func (g *Graph) Seal() {
	if g.sealed {
		return
	}
	g.sealed = true
	for i, r := range g.rules {
		if !r.complete {
			panic(fmt.Sprintf("incremental: rule %s has no source; call Each", r.name))
		}
		r.number = uint16(i)
	}
	for _, r := range g.rules {
		if !r.readsFailures() {
			g.failures.emitters = append(g.failures.emitters, r)
		}
	}
	left := g.rules
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(r *Rule) bool { return r.before(left) == nil })
		if i < 0 {
			panic("incremental: rules form a cycle: " + describeCycle(left))
		}
		g.order = append(g.order, left[i])
		left = slices.Concat(left[:i], left[i+1:])
	}
}

// edge says that a rule emits into a relation that another rule reads.
type edge struct {
	emitter  *Rule
	relation *declarations
}

// before returns why one of the given rules must be evaluated before r, or nil if none must.
func (r *Rule) before(others []*Rule) *edge {
	for _, relation := range r.reads {
		for _, emitter := range relation.emitters {
			if slices.Contains(others, emitter) {
				return &edge{emitter, relation}
			}
		}
	}
	return nil
}

// describeCycle describes a cycle of rules, each of which must be evaluated after another one of them.
func describeCycle(rules []*Rule) string {
	path, edges := []*Rule{rules[0]}, []string{}
	for {
		r := path[len(path)-1]
		e := r.before(rules)
		edges = append(edges, fmt.Sprintf("rule %s reads relation %s, into which rule %s emits",
			r.name, e.relation.relation, e.emitter.name))
		if i := slices.Index(path, e.emitter); i >= 0 {
			return strings.Join(edges[i:], "; ")
		}
		path = append(path, e.emitter)
	}
}

// Shuffle changes the order of the rules, as if they were added in another order. swap is called like that of
// rand.Shuffle. Tests call it before Seal.
func (g *Graph) Shuffle(shuffle func(n int, swap func(i, j int))) {
	shuffle(len(g.rules), func(i, j int) { g.rules[i], g.rules[j] = g.rules[j], g.rules[i] })
}
