package cache

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/watch"
)

// Encoded events are kept for the most recent entries of a kind, and up to a size.
const (
	sharedEntries = 128
	maxSharedLine = 64 << 10
)

// lines has an event as the watches of a kind send it, which is encoded once for all of them.
type lines struct {
	added, modified, deleted, deletedOld atomic.Pointer[[]byte]
	// dropped is set when the entry is no longer recent.
	dropped atomic.Bool
}

// of returns where the text of an event is kept.
func (l *lines) of(e Event) *atomic.Pointer[[]byte] {
	switch {
	case e.Type == watch.Added:
		return &l.added
	case e.Type == watch.Modified:
		return &l.modified
	case e.Object.version == e.Object.object.version:
		return &l.deleted
	}
	return &l.deletedOld
}

// SharedJSON returns the text of AppendJSON that all watches share, or false if the event is not shared. It must not be
// changed.
func (e Event) SharedJSON() ([]byte, bool) {
	if e.lines == nil || e.Object.object.size() > maxSharedLine || e.lines.dropped.Load() {
		return nil, false
	}
	at := e.lines.of(e)
	if text := at.Load(); text != nil {
		return *text, true
	}
	text := e.AppendJSON(nil)
	at.Store(&text)
	if e.lines.dropped.Load() {
		at.Store(nil)
	}
	return text, true
}

// dropLines frees the texts of an entry.
func (e *entry) dropLines() {
	for _, c := range e.changes {
		if c.lines != nil {
			c.lines.dropped.Store(true)
			for _, at := range []*atomic.Pointer[[]byte]{
				&c.lines.added, &c.lines.modified, &c.lines.deleted, &c.lines.deletedOld,
			} {
				at.Store(nil)
			}
		}
	}
}
