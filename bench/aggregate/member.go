package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// podState is the JSON of a pod around its version and its sequence annotation.
type podState struct {
	namespace, name, node string
	version               uint64
	sequence              int
	// raw has the annotation at sequenceAt. head and tail are before and after the resource version.
	raw        []byte
	sequenceAt int
	head, tail int
}

func newPodState(raw json.RawMessage) (*podState, error) {
	var o struct {
		Metadata struct{ Name, Namespace, ResourceVersion string }
		Spec     struct{ NodeName string }
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	p := &podState{namespace: o.Metadata.Namespace, name: o.Metadata.Name, node: o.Spec.NodeName, raw: raw}
	const before = `"resourceVersion":"`
	p.head = bytes.Index(raw, []byte(before)) + len(before)
	p.tail = p.head + len(o.Metadata.ResourceVersion)
	annotation := []byte(`"` + sequence + `":"`)
	p.sequenceAt = bytes.Index(raw, annotation) + len(annotation)
	var err error
	if p.version, err = strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64); err == nil {
		p.sequence, err = strconv.Atoi(string(raw[p.sequenceAt : p.sequenceAt+sequenceWidth]))
	}
	return p, err
}

// next returns the pod after an event.
func (p *podState) next(version uint64, sequence int) *podState {
	n := *p
	text := strconv.AppendUint(nil, version, 10)
	n.raw = slices.Concat(p.raw[:p.head], text, p.raw[p.tail:])
	n.tail = p.head + len(text)
	n.version, n.sequence = version, sequence
	if p.sequenceAt > p.head {
		n.sequenceAt += n.tail - p.tail
	}
	copy(n.raw[n.sequenceAt:], sequenceText(sequence))
	return &n
}

func (p *podState) key() string { return p.namespace + "/" + p.name }

// member is the API server of a virtual cluster: it serves pods that were created in a real one.
type member struct {
	name   string
	server *httptest.Server

	mutex   sync.Mutex
	version uint64
	pods    []*podState
	events  []*podState
	changed chan struct{}
	// dead is closed when the network answers again; nil if it answers.
	dead chan struct{}
}

func newMember(name string, pods []*podState) *member {
	m := &member{name: name, pods: slices.Clone(pods), changed: make(chan struct{})}
	for _, p := range pods {
		m.version = max(m.version, p.version)
	}
	slices.SortFunc(m.pods, func(a, b *podState) int { return strings.Compare(a.key(), b.key()) })
	m.server = httptest.NewUnstartedServer(m)
	m.server.Listener = blackhole{m.server.Listener, m}
	m.server.EnableHTTP2 = true
	m.server.StartTLS()
	return m
}

func (m *member) stop() {
	m.setDead(false)
	m.server.CloseClientConnections()
	m.server.Close()
}

// modify makes an event of a pod.
func (m *member) modify(i, sequence int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.version++
	m.pods[i] = m.pods[i].next(m.version, sequence)
	m.events = append(m.events, m.pods[i])
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *member) snapshot() []*podState {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Clone(m.pods)
}

func (m *member) pod(i int) *podState {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.pods[i]
}

// setDead starts or ends a failure of the network: connections exist, and nothing is transmitted.
func (m *member) setDead(dead bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	switch {
	case dead && m.dead == nil:
		m.dead = make(chan struct{})
	case !dead && m.dead != nil:
		close(m.dead)
		m.dead = nil
	}
}

func (m *member) waitAlive() {
	m.mutex.Lock()
	dead := m.dead
	m.mutex.Unlock()
	if dead != nil {
		<-dead
	}
}

// blackhole is a listener whose connections transmit nothing while the member is dead.
type blackhole struct {
	net.Listener
	member *member
}

func (b blackhole) Accept() (net.Conn, error) {
	c, err := b.Listener.Accept()
	return blackholeConn{c, b.member}, err
}

type blackholeConn struct {
	net.Conn
	member *member
}

func (c blackholeConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.member.waitAlive()
	return n, err
}

func (c blackholeConn) Write(p []byte) (int, error) {
	c.member.waitAlive()
	return c.Conn.Write(p)
}

// ServeHTTP answers what the aggregator asks a member.
func (m *member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/version":
		fmt.Fprint(w, `{"major":"1","minor":"36","gitVersion":"v1.36.3"}`)
	case "/api/v1/namespaces/" + system:
		fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q,"uid":"uid-of-%s"}}`, system, m.name)
	case "/api/v1":
		fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","singularName":"pod",`+
			`"namespaced":true,"kind":"Pod","verbs":["get","list","watch","update","patch","delete"]}]}`)
	case "/api/v1/pods":
		if r.URL.Query().Get("watch") == "true" {
			m.watch(w, r)
			return
		}
		m.list(w, r)
	default:
		status(w, http.StatusNotFound, "NotFound")
	}
}

func status(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
}

// list answers with a page. A later page is 410 if there was an event since the first one.
func (m *member) list(w http.ResponseWriter, r *http.Request) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	m.mutex.Lock()
	version, pods := m.version, m.pods
	from := 0
	if token := r.URL.Query().Get("continue"); token != "" {
		var at uint64
		if _, err := fmt.Sscanf(token, "%d.%d", &at, &from); err != nil || at != version || from > len(pods) {
			m.mutex.Unlock()
			status(w, http.StatusGone, "Expired")
			return
		}
	}
	to, next := len(pods), ""
	if limit > 0 && from+limit < to {
		to = from + limit
		next = fmt.Sprintf(`,"continue":"%d.%d"`, version, to)
	}
	page := slices.Clone(pods[from:to])
	m.mutex.Unlock()
	body := fmt.Appendf(nil, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d"%s},"items":[`, version, next)
	for i, p := range page {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, p.raw...)
	}
	_, _ = w.Write(append(body, "]}"...)) // The client sees an error.
}

// watch sends the events after a version, and bookmarks two seconds before the end and once a minute.
func (m *member) watch(w http.ResponseWriter, r *http.Request) {
	at, err := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
	if err != nil {
		status(w, http.StatusBadRequest, "BadRequest")
		return
	}
	seconds, _ := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	end := time.NewTimer(time.Duration(seconds) * time.Second)
	defer end.Stop()
	bookmark := time.NewTimer(min(time.Minute, time.Duration(seconds-2)*time.Second))
	defer bookmark.Stop()
	control := http.NewResponseController(w)
	w.WriteHeader(http.StatusOK)
	for control.Flush() == nil {
		m.mutex.Lock()
		from, _ := slices.BinarySearchFunc(m.events, at+1, func(p *podState, v uint64) int {
			return int(p.version) - int(v)
		})
		events, version, changed := slices.Clone(m.events[from:]), m.version, m.changed
		m.mutex.Unlock()
		for _, p := range events {
			fmt.Fprintf(w, `{"type":"MODIFIED","object":%s}`+"\n", p.raw)
			at = p.version
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-bookmark.C:
			fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%d"}}}`+"\n",
				version)
			bookmark.Reset(time.Minute)
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}
