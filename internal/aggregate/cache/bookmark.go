package cache

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"anymesh.dev/anymesh/internal/aggregate/version"
)

// Event is an event of a watch.
type Event struct {
	Type watch.EventType
	// Object is set in ADDED, MODIFIED and DELETED events.
	Object Object
	kind   *kindInfo
	// ResourceVersion and InitialEventsEnd are set in BOOKMARK events.
	ResourceVersion  string
	InitialEventsEnd bool
	status           *metav1.Status
	lines            *lines
}

// Status returns the status of an ERROR event, or nil.
func (e Event) Status() *metav1.Status { return e.status }

// AppendJSON appends the event as a line of a watch response.
func (e Event) AppendJSON(to []byte) []byte {
	if e.kind == nil {
		return e.append(to, nil, Object.AppendJSON)
	}
	return e.append(to, e.kind.head, Object.AppendJSON)
}

// AppendPartialJSON appends the event with its object as PartialObjectMetadata.
func (e Event) AppendPartialJSON(to []byte) []byte {
	return e.append(to, []byte(partialHead), Object.AppendPartialJSON)
}

// append writes an event. The head is that of a bookmark.
func (e Event) append(to, head []byte, form func(Object, []byte) []byte) []byte {
	to = append(append(append(to, `{"type":"`...), e.Type...), `","object":`...)
	switch e.Type {
	case watch.Bookmark:
		to = append(append(append(to, head...), `"resourceVersion":"`...), e.ResourceVersion...)
		to = append(to, `","creationTimestamp":null`...)
		if e.InitialEventsEnd {
			to = append(append(append(to, `,"annotations":{"`...), metav1.InitialEventsAnnotationKey...), `":"true"}`...)
		}
		to = append(to, "}}"...)
	case watch.Error:
		status := *e.status
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		text, err := json.Marshal(status)
		if err != nil {
			panic(err) // A Status can be encoded.
		}
		to = append(to, text...)
	default:
		to = form(e.Object, to)
	}
	return append(to, "}\n"...)
}

// beforeEnd is the time from the last bookmark to the end of a watch, as in kube-apiserver.
const beforeEnd = 2 * time.Second

// bookmarkTimes says when a bookmark is due: soon after an event, at an interval, and before the end.
type bookmarkTimes struct {
	delay, interval time.Duration
	next, last      time.Time
}

func newBookmarkTimes(o Options, deadline time.Time) bookmarkTimes {
	b := bookmarkTimes{delay: o.BookmarkDelay, interval: o.BookmarkInterval}
	b.next = time.Now().Add(b.interval)
	if !deadline.IsZero() {
		b.last = deadline.Add(-beforeEnd)
		b.limit()
	}
	return b
}

// limit moves the next bookmark before the end of the watch.
func (b *bookmarkTimes) limit() {
	if !b.last.IsZero() && b.last.Before(b.next) {
		b.next = b.last
	}
}

// event schedules the bookmark that follows an event, because the version of an event cannot be resumed from.
func (b *bookmarkTimes) event() {
	if at := time.Now().Add(b.delay); at.Before(b.next) {
		b.next = at
	}
}

// due reports whether a bookmark is due, and schedules the one after it.
func (b *bookmarkTimes) due(now time.Time) bool {
	if now.Before(b.next) {
		return false
	}
	b.next = now.Add(b.interval)
	if now.Before(b.last) {
		b.limit()
	}
	return true
}

// LastBookmark returns a bookmark for a watch that ends early, with what the client has. It returns false if the client
// did not ask for bookmarks, or does not have the initial events.
func (w *Watch) LastBookmark() (Event, bool) {
	if w.ended || !w.options.AllowWatchBookmarks || w.initial != nil {
		return Event{}, false
	}
	return w.newBookmark(false), true
}

// newBookmark returns a bookmark with the positions of all clusters.
func (w *Watch) newBookmark(end bool) Event {
	c := w.kind
	c.mutex.Lock()
	if !w.behind && len(w.queue) == 0 && w.batch == nil {
		for owner := range w.positions {
			if m := c.members[owner.name]; m != nil && m.cluster == owner && m.synced {
				w.positions[owner] = max(w.positions[owner], m.position)
			}
		}
		w.integer = c.history.last
	}
	c.mutex.Unlock()
	components := make([]version.Component, 0, len(w.positions))
	for owner, at := range w.positions {
		components = append(components, owner.at(at))
	}
	at := version.New(components...)
	at.Integer = w.integer
	e := Event{Type: watch.Bookmark, kind: c.info, ResourceVersion: at.String()}
	e.InitialEventsEnd = end
	return e
}
