package xds

import (
	"slices"
	"strings"
	"time"
)

// collection identifies the resources "xdstp://AUTHORITY/TYPE/PATH/NAME" with equal values of all but NAME: it is their
// name up to the last slash. Clients subscribe to it as "xdstp://AUTHORITY/TYPE/PATH/*" (xDS transport protocol, glob
// collections).
type collection string

// parseCollection returns the collection of a subscription. It reports false for the name of a resource.
func parseCollection(name string) (collection, bool) {
	if !strings.HasPrefix(name, "xdstp://") {
		return "", false
	}
	path, ok := strings.CutSuffix(name, "/*")
	return collection(path), ok
}

// contains reports whether a resource is in the collection.
func (c collection) contains(name string) bool {
	rest, ok := strings.CutPrefix(name, string(c))
	return ok && strings.LastIndexByte(rest, '/') == 0
}

// addCollection subscribes to all resources of a collection.
func (s *subscription) addCollection(c collection, now time.Time) {
	if !slices.Contains(s.collections, c) {
		c = collection(strings.Clone(string(c))) // a substring of a request
		s.collections = append(s.collections, c)
		s.budget.add(collectionCost + len(c))
	}
	s.markAll(c.contains, now)
}

// dropCollection unsubscribes from a collection.
func (s *subscription) dropCollection(c collection) {
	if i := slices.Index(s.collections, c); i >= 0 {
		s.collections = slices.Delete(s.collections, i, i+1)
		s.budget.add(-collectionCost - len(c))
	}
	s.forgetUnselected()
}

// setWildcard subscribes to all names.
func (s *subscription) setWildcard(now time.Time) {
	s.wildcard = true
	s.markAll(func(string) bool { return true }, now)
}

// dropWildcard unsubscribes from the wildcard and keeps names and collections.
func (s *subscription) dropWildcard() {
	s.wildcard = false
	s.forgetUnselected()
}

// selects reports whether the client subscribes to a name by the wildcard or a collection.
func (s *subscription) selects(name string) bool {
	return s.wildcard || slices.ContainsFunc(s.collections, func(c collection) bool { return c.contains(name) })
}

// markAll marks all resources with matching names, except for those that are subscribed to by name. A repeated
// subscription is sent again. There is a response even if no name matches.
func (s *subscription) markAll(match func(name string) bool, now time.Time) {
	s.mustRespond = true
	for n := range s.table.numbers() {
		if (s.table.resource(n) != nil || s.has(n)) && s.entry(n)&entryNamed == 0 && match(s.table.name(n)) {
			s.markUnknown(n, now)
		}
	}
}

// forgetUnselected removes the state of names that the client does not subscribe to any more.
func (s *subscription) forgetUnselected() {
	for n, e := range s.all() {
		if e&entryNamed == 0 && !s.selects(s.table.name(n)) {
			s.forget(n)
		}
	}
	for n := range s.dirty.all() {
		if s.entry(n) == 0 && (!s.table.known(n) || !s.selects(s.table.name(n))) {
			s.dirty.remove(n)
		}
	}
}
