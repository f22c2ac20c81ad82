package membertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bookmarkInterval is the time between bookmarks; a minute in kube-apiserver.
const bookmarkInterval = time.Second

// ServeHTTP answers lists, watches, and requests for objects.
func (m *Member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mutex.Lock()
	for m.faults.Silent {
		changed := m.changed
		m.mutex.Unlock()
		if !pause(r, changed, time.Minute) {
			return
		}
		m.mutex.Lock()
	}
	unreachable := m.faults.Unreachable
	changed := m.changed
	document, is := m.documents[r.URL.Path]
	m.mutex.Unlock()
	if unreachable {
		select {
		case <-r.Context().Done():
		case <-changed:
		case <-time.After(200 * time.Millisecond):
		}
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	if is {
		_, _ = w.Write([]byte(document)) // The client sees an error.
		return
	}
	if query := r.URL.Query(); query.Has("sendInitialEvents") {
		fail(w, http.StatusBadRequest, "BadRequest", "sendInitialEvents is not supported") // clients list then
		return
	} else if isWatch(query.Get("watch")) {
		m.mutex.Lock()
		m.watches++
		m.mutex.Unlock()
		m.watch(w, r)
		return
	}
	if !m.answerObject(w, r) {
		m.list(w, r)
	}
}

// isWatch reads the parameter in the forms of Go clients.
func isWatch(text string) bool { return text == "true" || text == "1" }

func fail(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"reason":%q,"code":%d}`,
		message, reason, code)
}

// list answers with a page. Later pages have the state of the first one, or get 410.
func (m *Member) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("limit"))
	path, namespace := split(r.URL.Path)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	at, after := m.version, ""
	objects := m.objects[path]
	if token := query.Get("continue"); token != "" {
		first, key, _ := strings.Cut(token, "|")
		at, _ = strconv.ParseUint(first, 10, 64)
		after = key
		kept, ok := m.snapshots[at]
		if !ok {
			fail(w, http.StatusGone, "Expired", "the provided continue parameter is too old")
			return
		}
		objects = kept[path]
	}
	var items []json.RawMessage
	next := ""
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		if key <= after || namespace != "" && !strings.HasPrefix(key, namespace+"/") {
			continue
		}
		if limit > 0 && len(items) == limit {
			next = fmt.Sprintf("%d|%s", at, after)
			break
		}
		items, after = append(items, objects[key]), key
	}
	if next != "" {
		next = fmt.Sprintf("%d|%s", at, after)
		if m.snapshots[at] == nil {
			m.snapshots[at] = map[string]map[string]json.RawMessage{}
		}
		m.snapshots[at][path] = maps.Clone(objects)
	}
	metadata := map[string]string{"resourceVersion": strconv.FormatUint(at, 10)}
	if next != "" {
		metadata["continue"] = next
	}
	body, err := json.Marshal(map[string]any{
		"kind": listKind(items), "apiVersion": apiVersion(path), "metadata": metadata, "items": items,
	})
	if err != nil {
		panic(err) // The server encoded the items.
	}
	_, _ = w.Write(body) // The client sees an error.
}

// apiVersion returns the group and version of a path such as /apis/apps/v1/deployments.
func apiVersion(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path[:strings.LastIndexByte(path, '/')], "/apis/"), "/api/")
}

func listKind(items []json.RawMessage) string {
	if len(items) > 0 {
		if kind, ok := decode(items[0])["kind"].(string); ok {
			return kind + "List"
		}
	}
	return "List"
}

// watch sends events after a version, and bookmarks.
func (m *Member) watch(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	at, _ := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	path, namespace := split(r.URL.Path)
	seconds, _ := strconv.Atoi(query.Get("timeoutSeconds"))
	deadline := time.Now().Add(time.Duration(max(seconds, 1)) * time.Second)
	m.mutex.Lock()
	generation := m.generation
	old := at < m.compacted || m.faults.Gone
	m.mutex.Unlock()
	if old {
		fail(w, http.StatusGone, "Expired", "too old resource version")
		return
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	bookmark := time.Now().Add(min(bookmarkInterval, time.Until(deadline)-2*time.Second))
	var sent []event
	for time.Now().Before(deadline) {
		m.mutex.Lock()
		var send []event
		for _, e := range m.events {
			if e.version > at && e.path == path && (namespace == "" || strings.HasPrefix(e.key, namespace+"/")) {
				send = append(send, e)
			}
		}
		lost := at < m.compacted
		closed := m.generation != generation
		now, changed, faults := m.version, m.changed, m.faults
		m.mutex.Unlock()
		switch {
		case closed || faults.Unreachable:
			return
		case faults.Silent:
			if !pause(r, changed, time.Until(deadline)) {
				return
			}
			continue
		case lost:
			fmt.Fprintln(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",`+
				`"message":"too old resource version","reason":"Expired","code":410}}`)
			return
		}
		for _, e := range send {
			time.Sleep(faults.Delay)
			if faults.Truncate {
				text := e.line()
				_, _ = w.Write(text[:len(text)/2]) // The client sees the end.
				return
			}
			sent = append(sent, e)
			sent = sent[max(len(sent)-max(faults.Repeat, 1), 0):]
			_, _ = w.Write(e.line()) // The client sees the end.
			for _, e := range sent[:min(len(sent), faults.Repeat)] {
				_, _ = w.Write(e.line())
			}
			at = e.version
		}
		if time.Now().After(bookmark) {
			bookmark = time.Now().Add(bookmarkInterval)
			if at = max(at, now); at == now && !faults.NoBookmarks {
				fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"%d"}}}`+"\n", at)
			}
		}
		w.(http.Flusher).Flush()
		if !pause(r, changed, time.Until(bookmark)+time.Millisecond) {
			return
		}
	}
}

// line is the event in a watch.
func (e event) line() []byte {
	return fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", e.kind, e.object)
}

// pause returns when something changed or a time is over, or false if the client is gone.
func pause(r *http.Request, changed <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-r.Context().Done():
		return false
	}
	return true
}
