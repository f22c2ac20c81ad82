package cache

import "slices"

// change is a change of an object. There is no old object if the object is new. A deletion has the last state in new,
// and deleted is set.
type change struct {
	old, new *object
	deleted  bool
	// version is the version of the change, which is that of new unless the member did not send it.
	version uint64
	// integer is the global version, if that is an integer.
	integer uint64
	// lines has the event as watches send it; nil for changes of lists.
	lines *lines
}

// entry is a step of the merged history of a kind: the changes that take one cluster to a position.
type entry struct {
	cluster *cluster
	to      uint64
	changes []change
	// joined entries are the first list of a cluster. batch entries are lists; the positions within are unknown.
	joined, batch bool
	from          uint64
	// left entries say that the cluster left, so that watches with its objects end.
	left bool
	// last is the integer of the last change, or of the entry; 0 if versions are vectors.
	last uint64
}

func (e *entry) bytes() int {
	n := 0
	for _, c := range e.changes {
		if c.old != nil {
			n += c.old.size()
		}
		if c.deleted {
			n += c.new.size()
		}
	}
	return n
}

// relist is 1 for a list of a cluster after the first.
func (e *entry) relist() int {
	if e.batch && !e.joined {
		return 1
	}
	return 0
}

// window has the most recent entries of a kind.
type window struct {
	// first is the sequence number of entries[0].
	first         uint64
	entries       []*entry
	events, bytes int
	// lists counts the entries that are lists after the first.
	lists          int
	limit, maxSize int
	// evict is called with each entry that is dropped.
	evict func(*entry)
}

func (w *window) next() uint64 { return w.first + uint64(len(w.entries)) }

// add appends an entry, and drops old entries over the limits. The last entry stays.
func (w *window) add(e *entry) {
	w.entries = append(w.entries, e)
	if old := len(w.entries) - 1 - sharedEntries; old >= 0 {
		w.entries[old].dropLines()
	}
	w.lists += e.relist()
	w.events += max(len(e.changes), 1)
	w.bytes += e.bytes()
	for len(w.entries) > 1 && (w.events > w.limit || w.bytes > w.maxSize) {
		old := w.entries[0]
		w.entries[0] = nil
		w.entries = w.entries[1:]
		w.first++
		w.lists -= old.relist()
		w.events -= max(len(old.changes), 1)
		w.bytes -= old.bytes()
		w.evict(old)
	}
}

// after returns at most n entries from a sequence number, or false if entries were dropped.
func (w *window) after(seq uint64, n int) ([]*entry, bool) {
	if seq < w.first {
		return nil, false
	}
	from := min(int(seq-w.first), len(w.entries))
	return slices.Clone(w.entries[from:min(from+n, len(w.entries))]), true
}
