package cache

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// errOrder says that a watch of a member sent an event that is older than an earlier one, or that the history of the
// member began again. The kind has to be listed again.
var errOrder = errors.New("the member sent an event of the past that the cache does not have")

// synced applies a complete list of a cluster.
func (c *kindCache) synced(s *source, listed []*object, at uint64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	m := c.owner(s)
	if m == nil {
		return
	}
	if m.synced && (at < m.position || c.contradicts(m, listed)) {
		// The cluster was restored from a backup: its history is another one.
		c.restart(s, m)
		for i, o := range listed {
			moved := *o
			moved.cluster = m.cluster
			listed[i] = &moved
		}
	}
	e := &entry{cluster: m.cluster, from: m.position, to: at, batch: true, joined: !m.synced}
	e.changes = c.difference(m, listed, at)
	if e.joined {
		m.floor = at
	} else {
		m.status.Relists++
	}
	m.synced = true
	m.status.Synced, m.status.Expired = true, false
	m.status.LastEvent = time.Now()
	c.add(m, e)
}

// contradicts reports whether a list cannot follow the stored state: changed objects have versions after the position.
func (c *kindCache) contradicts(m *memberState, listed []*object) bool {
	for _, o := range listed {
		old := c.find(m.cluster, o.namespace, o.name)
		if o.version <= m.position && (old == nil || old.version != o.version) {
			return true
		}
	}
	return false
}

// difference returns the changes from the stored objects of a cluster to a list, in the order of their versions.
func (c *kindCache) difference(m *memberState, listed []*object, at uint64) []change {
	slices.SortFunc(listed, compare)
	var changes []change
	remove := func(old *object) {
		changes = append(changes, change{old: old, new: old, deleted: true, version: at})
	}
	i := 0
	insert := func(o *object) { changes = append(changes, change{new: o, version: o.version}) }
	c.objects.Ascend(func(old *object) bool {
		if old.cluster != m.cluster {
			return true
		}
		for i < len(listed) && compare(listed[i], old) < 0 {
			insert(listed[i])
			i++
		}
		if i == len(listed) || compare(listed[i], old) > 0 {
			remove(old)
			return true
		}
		if now := listed[i]; now.version != old.version {
			changes = append(changes, replace(old, now)...)
		}
		i++
		return true
	})
	for ; i < len(listed); i++ {
		insert(listed[i])
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.version, b.version) })
	return changes
}

// replace returns the changes from an object, which may be nil, to another one. An object with another uid is not an
// update: the earlier one was deleted.
func replace(old, now *object) []change {
	if old != nil && old.uidText() != now.uidText() {
		return []change{
			{old: old, new: old, deleted: true, version: now.version}, {new: now, version: now.version},
		}
	}
	return []change{{old: old, new: now, version: now.version}}
}

// event applies an event of a watch.
func (c *kindCache) event(s *source, o *object, deleted bool) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	m := c.owner(s)
	if m == nil {
		return nil
	}
	m.status.LastEvent = time.Now()
	old := c.find(m.cluster, o.namespace, o.name)
	if old != nil && old.version >= o.version {
		return nil // A repeated event.
	}
	if o.version <= m.position {
		return fmt.Errorf("%w: %s/%s has version %d after %d", errOrder, o.namespace, o.name, o.version, m.position)
	}
	m.forget(o.namespace + "/" + o.name)
	e := &entry{cluster: m.cluster, from: m.position, to: o.version}
	switch {
	case !deleted:
		e.changes = replace(old, o)
	case old != nil:
		e.changes = []change{{old: old, new: o, deleted: true, version: o.version}}
	}
	for i := range e.changes {
		e.changes[i].lines = &lines{}
	}
	if old == nil && m.status.Objects >= c.options.MaxObjects {
		return fmt.Errorf("%s has more than %d objects", c.info.Resource.Resource, c.options.MaxObjects)
	}
	c.add(m, e)
	return nil
}

// progress applies a bookmark.
func (c *kindCache) progress(s *source, at uint64) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	m := c.owner(s)
	if m == nil {
		return nil
	}
	m.status.LastEvent = time.Now()
	if at < m.position {
		return fmt.Errorf("%w: a bookmark has version %d after %d", errOrder, at, m.position)
	}
	if at > m.position {
		m.position = at
		c.notify()
	}
	return nil
}

// owner returns the state of a source's cluster, or nil if the source was replaced. The mutex is held.
func (c *kindCache) owner(s *source) *memberState {
	if m := c.members[s.cluster.name]; m != nil && m.source == s {
		return m
	}
	return nil
}

// connected records that a watch is open.
func (c *kindCache) connected(s *source) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if m := c.owner(s); m != nil {
		m.status.Connected, m.status.Error, m.status.DisconnectedSince = true, "", time.Time{}
		m.status.Restarts++
	}
}

// disconnected records an error, and drops the objects of a cluster that was unreachable for too long.
func (c *kindCache) disconnected(s *source, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	m := c.owner(s)
	if m == nil {
		return
	}
	if m.status.DisconnectedSince.IsZero() {
		m.status.DisconnectedSince = time.Now()
	}
	m.status.Connected, m.status.Error = false, err.Error()
	m.status.Failures++
	if c.options.Grace > 0 && time.Since(m.status.DisconnectedSince) > c.options.Grace && !m.status.Expired {
		m.status.Expired = true
		c.restart(s, m)
	}
}
