package cache

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"anymesh.dev/anymesh/internal/aggregate/version"
)

// Watch is a stream of events of a kind. It is for one goroutine.
//
// Its buffer is short: it reads the window of the kind, and ends with 410 if it is slower than the window. Stop must be
// called.
type Watch struct {
	cache    *Cache
	kind     *kindCache
	selector *selector
	options  WatchOptions
	// deadline is the end; zero for none.
	deadline time.Time

	// The mutex of the kind guards these: behind is set if the entry pending, or one after it, can concern the watch and
	// was not read. key is the property of objects by which the watch is found.
	behind  bool
	pending uint64
	key     wakeKey
	// woken has an element if there may be something to read.
	woken chan struct{}
	timer *time.Timer

	// seq is the next entry, and began is the first entry after the start. queue has entries that were read from the
	// window. batch and at are the rest of the current entry.
	seq, began uint64
	queue      []*entry
	batch      *entry
	at         int
	// other is the event after a deletion that says that another cluster has an object of the name; nil for none.
	other *Event
	// positions are the versions up to which the client has all events.
	positions map[*cluster]uint64
	// integer is the same if versions are integers.
	integer uint64

	initial  *initialEvents
	bookmark bookmarkTimes
	ended    bool
}

// Watch starts a watch. Errors after the start are events of type ERROR.
func (c *Cache) Watch(ctx context.Context, resource schema.GroupVersionResource, o WatchOptions) (_ *Watch, err error) {
	defer func() { c.count(err) }()
	k, err := c.kind(resource)
	if err != nil {
		return nil, err
	}
	selector, err := k.info.newSelector(o.Selection)
	if err != nil {
		return nil, err
	}
	v, err := k.parse(o.ResourceVersion)
	if err != nil {
		return nil, err
	}
	switch {
	case o.SendInitialEvents == nil && o.ResourceVersionMatch != "":
		return nil, apierrors.NewBadRequest("resourceVersionMatch: is forbidden for watch unless sendInitialEvents is set")
	case o.SendInitialEvents != nil && o.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan:
		return nil, apierrors.NewBadRequest("resourceVersionMatch: sendInitialEvents requires NotOlderThan")
	}
	w := &Watch{cache: c, kind: k, selector: selector, options: o, woken: make(chan struct{}, 1)}
	if o.Timeout > 0 {
		w.deadline = time.Now().Add(o.Timeout)
	}
	w.bookmark = newBookmarkTimes(k.options, w.deadline)
	switch initial := o.SendInitialEvents; {
	case initial != nil && *initial, initial == nil && v.IsAny():
		if err := k.wait(ctx, v, o.Clusters); err != nil {
			return nil, err
		}
		if err := w.replay(initial != nil); err != nil {
			return nil, err
		}
	case v.IsAny():
		w.follow(k.snapshot(o.Clusters))
	case v.Integer > 0:
		if err := w.resumeAfter(v.Integer); err != nil {
			return nil, err
		}
	default:
		if err := w.resume(ctx, v); err != nil {
			return nil, err
		}
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.watchers.add(w, w.seq)
	return w, nil
}

// follow starts after a snapshot.
func (w *Watch) follow(s *snapshot) {
	w.seq, w.began, w.integer = s.seq, s.seq, s.vector.Integer
	w.positions = map[*cluster]uint64{}
	for c := range s.clusters {
		component, _ := s.vector.Get(c.name)
		w.positions[c] = component.Version
	}
}

// resume starts after a version that the client has. The result is exact, or else the error is 410.
func (w *Watch) resume(ctx context.Context, v version.Vector) error {
	if v.Partial {
		return expired("the version of an object does not say which events of other clusters the client has; " +
			"list again, or use the version of a list or bookmark")
	}
	if err := w.kind.waitConnected(ctx, v, w.options.Clusters); err != nil {
		return err
	}
	c := w.kind
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := c.check(v, w.options.Clusters); err != nil {
		return err
	}
	w.began = c.window.next()
	w.positions = map[*cluster]uint64{}
	for name, m := range c.members {
		if !visible(w.options.Clusters, name) {
			continue
		}
		component, ok := v.Get(name)
		if !ok {
			if m.synced {
				return expired("the version has no component of cluster %s, which joined; list again", name)
			}
			continue
		}
		if m.synced {
			if m.position < component.Version && component.Version <= m.former {
				return expired("cluster %s was restored from a backup; list again", name)
			}
			if err := c.reachable(m, component.Version); err != nil {
				return err
			}
		}
		w.positions[m.cluster] = component.Version
	}
	w.seq = c.firstAfter(w.positions)
	return nil
}

// firstAfter returns the sequence number from which the window has what positions lack. A client that was connected a
// short time ago needs few entries of many. The mutex is held.
func (c *kindCache) firstAfter(positions map[*cluster]uint64) uint64 {
	behind := map[*cluster]bool{}
	for _, m := range c.members {
		if at, ok := positions[m.cluster]; ok && m.position > at {
			behind[m.cluster] = true
		}
	}
	seq := c.window.next()
	for _, e := range slices.Backward(c.window.entries) {
		if len(behind) == 0 {
			break
		}
		if at, ok := positions[e.cluster]; ok && e.to <= at {
			delete(behind, e.cluster)
		}
		seq--
	}
	return seq
}

// waitConnected waits for connected clusters to reach a version of another replica. A cluster that does not was
// restored from a backup. Clusters that are not connected keep the position of the client.
func (c *kindCache) waitConnected(ctx context.Context, v version.Vector, clusters []string) error {
	c.mutex.Lock()
	var live []version.Component
	for _, component := range v.Components {
		if m := c.members[component.Cluster]; m != nil && m.synced && m.status.Connected {
			live = append(live, component)
		}
	}
	c.mutex.Unlock()
	if err := c.wait(ctx, version.New(live...), clusters); apierrors.IsTimeout(err) {
		return expired("the version is newer than the state of a cluster; list again")
	} else if err != nil {
		return err
	}
	return nil
}

// initialEvents are the objects at the start of a watch.
type initialEvents struct {
	next func() (*object, bool)
	stop func()
	// end is set if a bookmark follows.
	end bool
}

// Initial reports whether the objects that existed at the start are not all read yet.
func (w *Watch) Initial() bool { return w.initial != nil }

// Stop releases the watch.
func (w *Watch) Stop() {
	if w.initial != nil {
		w.initial.stop()
		w.initial = nil
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.ended = true
	w.queue, w.batch, w.other = nil, nil, nil
	w.kind.mutex.Lock()
	defer w.kind.mutex.Unlock()
	w.kind.watchers.remove(w)
}

// expire ends the watch with an ERROR event.
func (w *Watch) expire(err error) Event {
	w.cache.expired.Add(1)
	return w.Fail(err.(apierrors.APIStatus).Status())
}

// Fail stops the watch, and returns an ERROR event.
func (w *Watch) Fail(status metav1.Status) Event {
	w.Stop()
	return Event{Type: watch.Error, status: &status}
}
