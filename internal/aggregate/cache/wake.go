package cache

import (
	"k8s.io/apimachinery/pkg/selection"
)

// wakeKey is a property of objects that a watch requires. The sort is that of the name.
type wakeKey struct {
	sort        wakeSort
	name, value string
}

type wakeSort int

const (
	wakeAlways wakeSort = iota
	wakeNamespace
	wakeName
	wakeField
	wakeLabel
)

// watchers finds the watches that a change can concern, so that a change wakes few of many watches. The mutex of the
// kind guards it.
type watchers struct {
	byKey map[wakeKey]map[*Watch]struct{}
	// fields counts the watches with a key of a selectable field.
	fields map[string]int
}

func newWatchers() watchers {
	return watchers{byKey: map[wakeKey]map[*Watch]struct{}{}, fields: map[string]int{}}
}

// add registers a watch that has to read the history from a sequence number.
func (s *watchers) add(w *Watch, seq uint64) {
	w.pending, w.behind = seq, true
	w.key = w.selector.wakeKey()
	if s.byKey[w.key] == nil {
		s.byKey[w.key] = map[*Watch]struct{}{}
	}
	s.byKey[w.key][w] = struct{}{}
	if w.key.sort == wakeField {
		s.fields[w.key.name]++
	}
}

func (s *watchers) remove(w *Watch) {
	if _, ok := s.byKey[w.key][w]; !ok {
		return
	}
	delete(s.byKey[w.key], w)
	if len(s.byKey[w.key]) == 0 {
		delete(s.byKey, w.key)
	}
	if w.key.sort == wakeField {
		if s.fields[w.key.name]--; s.fields[w.key.name] == 0 {
			delete(s.fields, w.key.name)
		}
	}
}

// wakeKey returns the property that selects the fewest objects, usually.
func (s *selector) wakeKey() wakeKey {
	if s.name != "" {
		return wakeKey{wakeName, "", s.name}
	}
	if s.Fields != nil {
		for _, f := range s.kind.fields {
			if value, ok := s.Fields.RequiresExactMatch(f.name); ok {
				return wakeKey{wakeField, f.name, value}
			}
		}
	}
	if s.Labels != nil {
		requirements, _ := s.Labels.Requirements()
		for _, r := range requirements {
			if values := r.ValuesUnsorted(); len(values) == 1 &&
				(r.Operator() == selection.Equals || r.Operator() == selection.DoubleEquals || r.Operator() == selection.In) {
				return wakeKey{wakeLabel, r.Key(), values[0]}
			}
		}
	}
	if s.Namespace != "" {
		return wakeKey{wakeNamespace, "", s.Namespace}
	}
	if s.Fields != nil {
		if value, ok := s.Fields.RequiresExactMatch("metadata.namespace"); ok {
			return wakeKey{wakeNamespace, "", value}
		}
	}
	return wakeKey{}
}

// wake wakes the watches that an entry concerns. The mutex is held.
func (c *kindCache) wake(e *entry, seq uint64) {
	if e.left || e.batch || len(e.changes) > 8 {
		for _, set := range c.watchers.byKey {
			wakeSet(set, seq)
		}
		return
	}
	for _, change := range e.changes {
		wakeSet(c.watchers.byKey[wakeKey{}], seq)
		c.wakeFor(change.new, seq)
		if change.old != nil && change.old != change.new {
			c.wakeFor(change.old, seq)
		}
	}
}

func (c *kindCache) wakeFor(o *object, seq uint64) {
	byKey := c.watchers.byKey
	wakeSet(byKey[wakeKey{wakeNamespace, "", o.namespace}], seq)
	wakeSet(byKey[wakeKey{wakeName, "", o.name}], seq)
	view := fieldView{c.info, o}
	for name := range c.watchers.fields {
		wakeSet(byKey[wakeKey{wakeField, name, view.Get(name)}], seq)
	}
	for i := len(c.info.fields); i < len(o.values); i += 2 {
		wakeSet(byKey[wakeKey{wakeLabel, o.value(i), o.value(i + 1)}], seq)
	}
}

func wakeSet(set map[*Watch]struct{}, seq uint64) {
	for w := range set {
		if !w.behind {
			w.pending, w.behind = seq, true
		}
		w.signal()
	}
}

// signal wakes the goroutine of the watch.
func (w *Watch) signal() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}
