package cache

import (
	"context"
	"io"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// replay starts with the current objects as ADDED events.
func (w *Watch) replay(end bool) {
	s := w.kind.snapshot(w.options.Clusters)
	w.follow(s)
	l := &List{kind: w.kind.info, snapshot: s, selector: w.selector}
	next, stop := iter.Pull(l.objects(0))
	w.initial = &initialEvents{next: next, stop: stop, end: end && w.options.AllowWatchBookmarks}
}

// Next returns the next event. It returns io.EOF at the end, and the error of the context.
func (w *Watch) Next(ctx context.Context) (Event, error) {
	for {
		switch {
		case w.ended:
			return Event{}, io.EOF
		case w.initial != nil:
			if o, ok := w.initial.next(); ok {
				return w.event(watch.Added, o, o.version), nil
			}
			end := w.initial.end
			w.initial = nil
			if end {
				return w.newBookmark(true), nil
			}
		case w.batch != nil:
			if e, ok := w.fromBatch(); ok {
				w.bookmark.event()
				return e, nil
			}
		default:
			changed, e, failed := w.advance()
			if failed {
				return e, nil
			}
			if w.batch != nil {
				continue
			}
			now := time.Now()
			if !w.deadline.IsZero() && !now.Before(w.deadline) {
				w.Stop()
				continue
			}
			if w.options.AllowWatchBookmarks && w.bookmark.due(now) {
				return w.newBookmark(false), nil
			}
			if changed == nil {
				continue
			}
			if err := w.wait(ctx, changed, now); err != nil {
				return Event{}, err
			}
		}
		if err := ctx.Err(); err != nil {
			return Event{}, err
		}
	}
}

// wait returns when the kind changed, or when a bookmark or the end is due.
func (w *Watch) wait(ctx context.Context, changed <-chan struct{}, now time.Time) error {
	var timer <-chan time.Time
	if at := w.wake(); !at.IsZero() {
		t := time.NewTimer(at.Sub(now))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
	case <-timer:
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

// advance reads entries until one has events. The channel is nil if there may be more.
func (w *Watch) advance() (<-chan struct{}, Event, bool) {
	c := w.kind
	c.mutex.Lock()
	entries, ok := c.window.after(w.seq, 64)
	changed, closed := c.changed, c.closed
	c.mutex.Unlock()
	if !ok {
		return nil, w.expire(expired("the client is slower than the window of events; list again")), true
	}
	if closed {
		return nil, w.expire(expired("the kind is no longer cached")), true
	}
	for _, e := range entries {
		if err := w.enter(e); err != nil {
			return nil, w.expire(err), true
		}
		w.seq++
		if w.batch != nil {
			return nil, Event{}, false
		}
	}
	if len(entries) > 0 {
		return nil, Event{}, false
	}
	return changed, Event{}, false
}

// enter begins an entry that the client does not have.
func (w *Watch) enter(e *entry) error {
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
	for w.at < len(e.changes) {
		c := e.changes[w.at]
		w.at++
		if event, ok := w.translate(c); ok {
			if w.at == len(e.changes) {
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
	w.batch = nil
}

// translate returns the event of a change. Objects that begin or cease to be selected are added or deleted.
func (w *Watch) translate(c change) (Event, bool) {
	was := c.old != nil && w.selector.matches(c.old)
	is := !c.deleted && w.selector.matches(c.new)
	switch {
	case is && was:
		return w.event(watch.Modified, c.new, c.version), true
	case is:
		return w.event(watch.Added, c.new, c.version), true
	case was && c.deleted:
		return w.event(watch.Deleted, c.new, c.version), true
	case was:
		return w.event(watch.Deleted, c.old, c.version), true
	}
	return Event{}, false
}

func (w *Watch) event(kind watch.EventType, o *object, at uint64) Event {
	return Event{Type: kind, Object: Object{w.kind.info, o, at}}
}
