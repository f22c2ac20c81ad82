package cache

import (
	"context"
	"io"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// replay starts with the current objects as ADDED events.
func (w *Watch) replay(end bool) error {
	s, err := w.kind.completeSnapshot(w.options.Clusters)
	if err != nil {
		return err
	}
	w.follow(s)
	l := &List{kind: w.kind.info, snapshot: s, selector: w.selector}
	next, stop := iter.Pull(l.objects(0))
	w.initial = &initialEvents{next: next, stop: stop, end: end && w.options.AllowWatchBookmarks}
	return nil
}

// Next returns the next event. It returns io.EOF at the end, and the error of the context.
func (w *Watch) Next(ctx context.Context) (Event, error) {
	for {
		if e, ok, err := w.TryNext(); ok || err != nil {
			return e, err
		}
		if err := w.wait(ctx); err != nil {
			return Event{}, err
		}
	}
}

// TryNext returns the next event, or false if it is not there yet. It returns io.EOF at the end.
func (w *Watch) TryNext() (Event, bool, error) {
	for {
		switch {
		case w.ended:
			return Event{}, false, io.EOF
		case w.initial != nil:
			if o, ok := w.initial.next(); ok {
				return w.event(watch.Added, o.of(w.kind.info)), true, nil
			}
			end := w.initial.end
			w.initial = nil
			if end {
				return w.newBookmark(true), true, nil
			}
		case w.batch != nil:
			if e, ok := w.fromBatch(); ok {
				w.bookmark.event()
				return e, true, nil
			}
		case len(w.queue) > 0:
			e := w.queue[0]
			w.queue = w.queue[1:]
			if err := w.enter(e); err != nil {
				return w.expire(err), true, nil
			}
			w.seq++
		default:
			err := w.read()
			if err != nil {
				return w.expire(err), true, nil
			}
			if len(w.queue) > 0 {
				continue
			}
			now := time.Now()
			if !w.deadline.IsZero() && !now.Before(w.deadline) {
				w.Stop()
				continue
			}
			if w.options.AllowWatchBookmarks && w.bookmark.due(now) {
				return w.newBookmark(false), true, nil
			}
			return Event{}, false, nil
		}
	}
}

// wait returns when the watch was woken, or when a bookmark or the end is due.
func (w *Watch) wait(ctx context.Context) error {
	var due <-chan time.Time
	if at := w.wake(); !at.IsZero() {
		if w.timer == nil {
			w.timer = time.NewTimer(time.Until(at))
		} else {
			w.timer.Reset(time.Until(at))
		}
		due = w.timer.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.woken:
	case <-due:
	}
	return nil
}

func (w *Watch) wake() time.Time {
	at := w.deadline
	if w.options.AllowWatchBookmarks {
		if next := w.bookmark.next; at.IsZero() || next.Before(at) {
			at = next
		}
	}
	return at
}

// queueLength limits the entries that a watch reads at once.
const queueLength = 64

// read fills the queue with entries that the client does not have. Entries before the first one that can concern the
// watch are skipped.
func (w *Watch) read() error {
	c := w.kind
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return expired("the kind is no longer cached")
	}
	if !w.behind {
		w.seq = c.window.next()
		return nil
	}
	w.seq = max(w.seq, w.pending)
	entries, ok := c.window.after(w.seq, queueLength)
	if !ok {
		return expired("the client is slower than the window of events; list again")
	}
	w.queue = entries
	w.pending = w.seq + uint64(len(entries))
	w.behind = w.pending < c.window.next()
	return nil
}

// enter begins an entry that the client does not have.
func (w *Watch) enter(e *entry) error {
	if w.integer > 0 {
		return w.enterAfter(e)
	}
	position, has := w.positions[e.cluster]
	switch {
	case e.left:
		if has && w.seq >= w.began {
			return expired("cluster %s is no longer a member, or its history began again; list again", e.cluster.name)
		}
	case !visible(w.options.Clusters, e.cluster.name):
	case !has:
		if e.joined && w.seq >= w.began {
			w.batch, w.at = e, 0
		}
	case e.joined:
		if w.seq >= w.began && e.to != position {
			return expired("the history of cluster %s since version %d is not known; list again", e.cluster.name, position)
		}
	case e.to > position:
		if e.batch && position > e.from {
			return expired("the history of cluster %s since version %d is not known; list again", e.cluster.name, position)
		}
		w.batch, w.at = e, 0
	}
	return nil
}

// fromBatch returns the next event of the current entry that is selected.
func (w *Watch) fromBatch() (Event, bool) {
	e := w.batch
	if other := w.other; other != nil {
		w.other, w.integer = nil, other.Object.integer
		if w.at == len(e.changes) {
			w.finish()
		}
		return *other, true
	}
	for w.at < len(e.changes) {
		c := e.changes[w.at]
		w.at++
		before := w.integer
		w.integer = c.integer
		if event, ok := w.translate(c); ok {
			if event.Type == watch.Deleted && w.findOther(c) {
				// A client that resumes from the integer of the deletion would not get the other object.
				event.Object.integer, event.lines, w.integer = before, nil, before
			} else if w.at == len(e.changes) {
				w.finish()
			}
			return event, true
		}
	}
	w.finish()
	return Event{}, false
}

// finish records that the client has all events of the current entry.
func (w *Watch) finish() {
	w.positions[w.batch.cluster] = w.batch.to
	w.integer = w.batch.last
	w.batch = nil
}

// translate returns the event of a change. Objects that begin or cease to be selected are added or deleted.
func (w *Watch) translate(c change) (Event, bool) {
	was := c.old != nil && w.selector.matches(c.old)
	is := !c.deleted && w.selector.matches(c.new)
	switch {
	case is && was:
		return w.change(watch.Modified, c.new, c), true
	case is:
		return w.change(watch.Added, c.new, c), true
	case was && c.deleted:
		return w.change(watch.Deleted, c.new, c), true
	case was:
		return w.change(watch.Deleted, c.old, c), true
	}
	return Event{}, false
}

func (w *Watch) event(kind watch.EventType, o Object) Event { return Event{Type: kind, Object: o} }

func (w *Watch) change(kind watch.EventType, o *object, c change) Event {
	e := w.event(kind, Object{w.kind.info, o, c.version, c.integer})
	e.lines = c.lines
	return e
}
