package incremental

import "fmt"

// AddRule adds a rule: f is evaluated for each key of the source relation with entries, and again when these or the
// entries that f has read change. All rules must be added before the first fact. The name is used in panics.
func AddRule[K comparable, V any](g *Graph, name string, source *Relation[K, V],
	f func(t *Evaluation, key K, values []V)) {
	rank := len(g.rules)
	if source.lastEmitter >= rank || len(source.slots) > 0 {
		panic(fmt.Sprintf("incremental: rule %s is added after the facts of relation %s", name, source.name))
	}
	g.rules = append(g.rules, rule{name})
	g.queue = append(g.queue, nil)
	source.firstReader = min(source.firstReader, rank)
	cells := map[K]*cell{}
	source.sourceRules = append(source.sourceRules, func(key K) {
		c := cells[key]
		if c == nil {
			c = &cell{rank: rank, evaluate: func(t *Evaluation) bool {
				s := source.slots[key]
				if s == nil || len(s.entries) == 0 {
					delete(cells, key)
					return false
				}
				s.updateValues()
				f(t, key, s.values)
				return true
			}}
			cells[key] = c
		}
		g.enqueue(c)
	})
}
