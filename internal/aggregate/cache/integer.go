package cache

import (
	"fmt"
	"slices"
	"sort"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/aggregate/version"
)

// history numbers the changes of a kind in the order in which this cache sees them, if versions are integers. The state
// at an integer has all changes up to it. The mutex of the kind guards it.
type history struct {
	// sequence is nil if versions are vectors.
	sequence *version.Sequence
	// last is the newest integer. floor is the oldest that a watch can resume from.
	last, floor uint64
}

func newHistory(s *version.Sequence) history {
	h := history{sequence: s}
	if s != nil {
		h.last = s.Next() // the state without objects
		h.floor = h.last
	}
	return h
}

// number gives each change an integer. Objects keep that of their last change.
func (h *history) number(e *entry) {
	if h.sequence == nil {
		return
	}
	for i := range e.changes {
		c := &e.changes[i]
		c.integer = h.sequence.Next()
		h.last = c.integer
		if !c.deleted {
			c.new.integer = c.integer
		}
	}
	if len(e.changes) == 0 {
		h.last = h.sequence.Next()
	}
	e.last = h.last
}

// parseInteger reads the version of a request. It returns 410 for integers of other caches.
func (c *kindCache) parseInteger(text string) (version.Vector, error) {
	n, err := version.Number(text)
	if err != nil {
		if _, err := version.Parse(text); err != nil {
			return version.Vector{}, apierrors.NewBadRequest("resourceVersion: " + err.Error())
		}
		return version.Vector{}, expired("the version is not an integer, as those of this server are; list again")
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.history.sequence.Has(n) || n > c.history.last {
		return version.Vector{}, expired("%d is the version of another replica, or from before a restart; list again", n)
	}
	return version.Vector{Integer: n}, nil
}

// after returns the index of the first entry of the window with a change after an integer, which must be one that was
// issued for this kind. The mutex is held.
func (c *kindCache) after(n uint64) (int, error) {
	entries := c.window.entries
	i := sort.Search(len(entries), func(i int) bool { return entries[i].last >= n })
	switch {
	case n < c.history.floor:
		return 0, expired("version %d is too old (%d); list again", n, c.history.floor)
	case n == c.history.floor || i < len(entries) && entries[i].issued(n):
	default:
		return 0, expired("%d is the version of another replica, or from before a restart; list again", n)
	}
	if i < len(entries) && entries[i].last == n {
		i++
	}
	return i, nil
}

// issued reports whether an integer is that of the entry or of one of its changes.
func (e *entry) issued(n uint64) bool {
	if e.last == n {
		return true
	}
	i := e.firstAfter(n - 1)
	return i < len(e.changes) && e.changes[i].integer == n
}

// firstAfter returns the index of the first change after an integer.
func (e *entry) firstAfter(n uint64) int {
	return sort.Search(len(e.changes), func(i int) bool { return e.changes[i].integer > n })
}

// resumeAfter starts after an integer.
func (w *Watch) resumeAfter(n uint64) error {
	c := w.kind
	c.mutex.Lock()
	defer c.mutex.Unlock()
	i, err := c.after(n)
	if err != nil {
		return err
	}
	for _, e := range c.window.entries[i:] {
		if err := w.leaves(e); err != nil {
			return err
		}
	}
	w.seq, w.integer, w.positions = c.window.first+uint64(i), n, map[*cluster]uint64{}
	return nil
}

// leaves returns 410 for an entry that takes objects from the client without telling which.
func (w *Watch) leaves(e *entry) error {
	if e.left && visible(w.options.Clusters, e.cluster.name) {
		return expired("cluster %s is no longer a member, or its history began again; list again", e.cluster.name)
	}
	return nil
}

// enterAfter begins an entry of which the client may have some changes, if versions are integers.
func (w *Watch) enterAfter(e *entry) error {
	if e.last <= w.integer {
		return nil
	}
	if err := w.leaves(e); err != nil {
		return err
	}
	if visible(w.options.Clusters, e.cluster.name) {
		w.batch, w.at = e, e.firstAfter(w.integer)
	}
	return nil
}

// exactInteger returns the current state without the changes after an integer. The mutex is held.
func (c *kindCache) exactInteger(n uint64, clusters []string) (*snapshot, error) {
	first, err := c.after(n)
	if err != nil {
		return nil, err
	}
	current := c.snapshotLocked(clusters)
	s := &snapshot{vector: version.Vector{Integer: n}, clusters: current.clusters, objects: current.objects.Clone()}
	for _, e := range slices.Backward(c.window.entries[first:]) {
		if e.left && visible(clusters, e.cluster.name) {
			return nil, expired("cluster %s is no longer a member; list again", e.cluster.name)
		}
		for _, change := range slices.Backward(e.changes[e.firstAfter(n):]) {
			s.undo(change)
		}
	}
	return s, nil
}

// MemberVersion maps the integer of an object, in a write, to the version of the object in its cluster. The error wraps
// version.ErrMissing if the object has another integer, unless it is that of an event that said again that it exists.
func (c *Cache) MemberVersion(
	resource schema.GroupVersionResource, cluster, namespace, name, text string,
) (string, error) {
	if text == "" || text == version.Any {
		return text, nil
	}
	k, err := c.kind(resource)
	if err != nil {
		return "", err
	}
	n, err := version.Number(text)
	if err != nil {
		return "", fmt.Errorf("resourceVersion: %w", err)
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if m := k.members[cluster]; m != nil {
		if o := k.find(m.cluster, namespace, name); o != nil && (o.integer == n || o.again > 0 && n >= o.again) {
			return strconv.FormatUint(o.version, 10), nil
		}
	}
	return "", fmt.Errorf("%w %s: get the object again, and apply the change to it", version.ErrMissing, cluster)
}

// IntegerOf maps the version of an object in its cluster, in the answer to a write, to its integer. If the cache does
// not have this version, it returns the newest integer and false.
func (c *Cache) IntegerOf(
	resource schema.GroupVersionResource, cluster, namespace, name string, at uint64,
) (string, bool) {
	k, err := c.kind(resource)
	if err != nil {
		return "", false
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if m := k.members[cluster]; m != nil {
		if o := k.find(m.cluster, namespace, name); o != nil && o.version == at {
			return strconv.FormatUint(o.integer, 10), true
		}
		for _, e := range slices.Backward(k.window.entries) {
			if e.cluster != m.cluster || e.to < at {
				continue
			}
			for _, c := range e.changes {
				if c.version == at && c.new.name == name && c.new.namespace == namespace {
					return strconv.FormatUint(c.integer, 10), true
				}
			}
		}
	}
	return strconv.FormatUint(k.history.last, 10), false
}
