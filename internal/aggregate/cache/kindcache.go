package cache

import (
	"slices"
	"sync"
	"time"

	"github.com/google/btree"

	"anymesh.dev/anymesh/internal/aggregate/version"
)

// kindCache has the objects of a kind in all clusters, and their merged history.
type kindCache struct {
	info    *kindInfo
	options Options

	mutex   sync.Mutex
	objects *btree.BTreeG[*object]
	// clone is a copy of objects, until the next change.
	clone  *btree.BTreeG[*object]
	window window
	// members are the clusters of the kind by name.
	members  map[string]*memberState
	watchers watchers
	// history numbers the changes, if versions are integers.
	history history
	// changed is closed when the history or a position changes.
	changed chan struct{}
	kept    []keptSnapshot
	deleted deletions
	// closed is set when the kind is no longer cached.
	closed bool
}

// memberState is the state of a cluster of a kind.
type memberState struct {
	cluster *cluster
	// order is the position of the cluster in the order of members.
	order int
	// position is the version to which all events are in the window; floor is the oldest position that a watch can
	// resume from.
	position, floor uint64
	// former is the newest version of an earlier history, before the cluster was restored from a backup.
	former uint64
	synced bool
	joined time.Time
	// late is Member.Late.
	late   bool
	status Status
	// malformed has the reasons of the malformed objects by namespace and name.
	malformed map[string]string
	source    *source
}

func newKindCache(k Kind, options Options, integers *version.Sequence) *kindCache {
	c := &kindCache{
		info: newKindInfo(k), options: options, objects: btree.NewG(32, before),
		members: map[string]*memberState{}, changed: make(chan struct{}), watchers: newWatchers(),
		history: newHistory(integers),
	}
	c.window = window{limit: options.WindowEvents, maxSize: options.WindowBytes, evict: c.evicted}
	return c
}

// evicted raises the oldest position that a watch can resume from.
func (c *kindCache) evicted(e *entry) {
	c.history.floor = max(c.history.floor, e.last)
	if m := c.members[e.cluster.name]; m != nil && m.cluster == e.cluster {
		m.floor = max(m.floor, e.to)
	}
}

// record appends an entry to the window, and wakes the watches that it concerns. The mutex is held.
func (c *kindCache) record(e *entry) {
	c.history.number(e)
	c.window.add(e)
	c.wake(e, c.window.next()-1)
	c.notify()
}

// notify wakes requests that wait for a version. The mutex is held.
func (c *kindCache) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// add appends an entry to the history. The mutex is held.
func (c *kindCache) add(m *memberState, e *entry) {
	for _, change := range e.changes {
		if change.deleted {
			c.objects.Delete(change.old)
			c.deleted.add(change.old, time.Now())
			m.status.Objects--
			m.status.Bytes -= change.old.size()
			continue
		}
		c.objects.ReplaceOrInsert(change.new)
		if change.old == nil {
			m.status.Objects++
		} else {
			m.status.Bytes -= change.old.size()
		}
		m.status.Bytes += change.new.size()
	}
	if len(e.changes) > 0 {
		c.clone = nil
	}
	m.position = e.to
	c.record(e)
}

// find returns the stored object of a cluster. The mutex is held.
func (c *kindCache) find(owner *cluster, namespace, name string) *object {
	o, _ := c.objects.Get(&object{cluster: owner, namespace: namespace, name: name})
	return o
}

// drop removes the objects of a cluster, and ends watches that have them: also if the cluster was never listed, because
// clients can have them from another replica. The mutex is held.
func (c *kindCache) drop(m *memberState) {
	var gone []*object
	c.objects.Ascend(func(o *object) bool {
		if o.cluster == m.cluster {
			gone = append(gone, o)
		}
		return true
	})
	for _, o := range gone {
		c.objects.Delete(o)
	}
	c.clone = nil
	m.synced, m.position, m.floor = false, 0, 0
	m.malformed, m.status.Malformed, m.status.MalformedObject = nil, 0, ""
	m.status.Synced, m.status.Objects, m.status.Bytes = false, 0, 0
	c.record(&entry{cluster: m.cluster, left: true})
}

// restart drops the objects of a cluster whose history cannot be continued. What follows belongs to another cluster.
// The mutex is held, and the caller is the goroutine of the source.
func (c *kindCache) restart(s *source, m *memberState) {
	m.former = max(m.former, m.position)
	c.drop(m)
	again := *m.cluster
	m.cluster = &again
	s.cluster = m.cluster
}

// snapshot is the state of a kind at a vector.
type snapshot struct {
	objects *btree.BTreeG[*object]
	// vector has the clusters that the request may see.
	vector version.Vector
	// clusters are those of the vector.
	clusters map[*cluster]bool
	// seq is the sequence number of the next entry.
	seq uint64
	// missing are clusters that have not been listed.
	missing []string
}

// snapshot returns the current state.
func (c *kindCache) snapshot(clusters []string) *snapshot {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.snapshotLocked(clusters)
}

// completeSnapshot returns the current state, or 503 while it lacks a cluster that lists wait for.
func (c *kindCache) completeSnapshot(clusters []string) (*snapshot, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := c.complete(clusters); err != nil {
		return nil, err
	}
	return c.snapshotLocked(clusters), nil
}

func (c *kindCache) snapshotLocked(clusters []string) *snapshot {
	if c.clone == nil {
		c.clone = c.objects.Clone()
	}
	s := &snapshot{objects: c.clone, clusters: map[*cluster]bool{}, seq: c.window.next()}
	s.vector = c.vector(clusters)
	for _, m := range c.members {
		switch {
		case !visible(clusters, m.cluster.name):
		case m.synced:
			s.clusters[m.cluster] = true
		default:
			s.missing = append(s.missing, m.cluster.name)
		}
	}
	slices.Sort(s.missing)
	return s
}

// vector returns the positions of clusters that were listed. The mutex is held.
func (c *kindCache) vector(clusters []string) version.Vector {
	var components []version.Component
	for _, m := range c.members {
		if m.synced && visible(clusters, m.cluster.name) {
			components = append(components, m.cluster.at(m.position))
		}
	}
	v := version.New(components...)
	v.Integer = c.history.last
	return v
}

func visible(clusters []string, name string) bool {
	return clusters == nil || slices.Contains(clusters, name)
}
