package delivery

import (
	"maps"
	"slices"
	"sync"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
)

// rejection is a version of a resource that sidecars of a workload rejected.
type rejection struct {
	workload model.Key
	ref      xds.Ref
	version  string
}

// rejections maps each rejection to the error messages of connected sidecars, by identity. It is safe for concurrent
// use.
type rejections struct {
	mu       sync.Mutex
	messages map[rejection]map[string]string
}

func newRejections() rejections { return rejections{messages: map[rejection]map[string]string{}} }

// add records the message of a sidecar, and reports whether the set of messages changed.
func (all *rejections) add(r rejection, identity, message string) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	before := all.distinct(r)
	if all.messages[r] == nil {
		all.messages[r] = map[string]string{}
	}
	all.messages[r][identity] = message
	return !slices.Equal(before, all.distinct(r))
}

// drop removes the matching rejections of a sidecar, and reports whether the set of messages changed.
func (all *rejections) drop(identity string, matches func(rejection) bool) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	changed := false
	for r, by := range all.messages {
		if _, rejected := by[identity]; !rejected || !matches(r) {
			continue
		}
		before := all.distinct(r)
		if delete(by, identity); len(by) == 0 {
			delete(all.messages, r)
		}
		changed = changed || !slices.Equal(before, all.distinct(r))
	}
	return changed
}

// list returns all rejections.
func (all *rejections) list() []rejection {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Collect(maps.Keys(all.messages))
}

// remove removes rejections, and reports whether there were any.
func (all *rejections) remove(which []rejection) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	before := len(all.messages)
	for _, r := range which {
		delete(all.messages, r)
	}
	return len(all.messages) != before
}

// all returns the distinct messages about each rejection, sorted.
func (all *rejections) all() map[rejection][]string {
	all.mu.Lock()
	defer all.mu.Unlock()
	out := make(map[rejection][]string, len(all.messages))
	for r := range all.messages {
		out[r] = all.distinct(r)
	}
	return out
}

// distinct requires the lock.
func (all *rejections) distinct(r rejection) []string {
	return slices.Compact(slices.Sorted(maps.Values(all.messages[r])))
}
