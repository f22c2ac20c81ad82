package incremental

import "fmt"

// Each adds a rule: f is evaluated for each key of the source that has entries, and again when these or what f has read change.
// Rules are added before the first fact. The name is for messages to programmers.
func Each[K comparable, V any](g *Graph, name string, source *Relation[K, V], f func(t *Task, key K, values []V)) {
	rank := len(g.rules)
	if source.emitter >= rank || len(source.slots) > 0 {
		panic(fmt.Sprintf("incremental: rule %s comes after the facts of relation %s", name, source.name))
	}
	g.rules = append(g.rules, rule{name})
	g.queue = append(g.queue, nil)
	source.reader = min(source.reader, rank)
	cells := map[K]*cell{}
	source.sources = append(source.sources, func(key K) {
		c := cells[key]
		if c == nil {
			c = &cell{rank: rank, evaluate: func(t *Task) bool {
				s := source.slots[key]
				if s == nil || len(s.entries) == 0 {
					delete(cells, key)
					return false
				}
				s.refresh()
				f(t, key, s.values)
				return true
			}}
			cells[key] = c
		}
		g.enqueue(c)
	})
}
