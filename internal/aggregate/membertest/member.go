// Package membertest has an API server of a member cluster for tests. Objects come in by Go calls and requests; lists
// and watches of kube-apiserver go out, with faults on demand.
package membertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Object is the content of an object.
type Object = map[string]any

// event is a change of an object.
type event struct {
	version   uint64
	kind      string
	path, key string
	object    json.RawMessage
}

// Member is an API server. A path such as /api/v1/pods identifies a kind.
type Member struct {
	server *httptest.Server

	mutex   sync.Mutex
	version uint64
	// compacted is the oldest version to which watches can go back.
	compacted uint64
	objects   map[string]map[string]json.RawMessage
	events    []event
	history   []epoch
	snapshots map[uint64]map[string]map[string]json.RawMessage
	changed   chan struct{}
	// generation counts the times when all watches were closed.
	generation int
	faults     Faults
	requests   []Request
	documents  map[string]string
	watches    int
}

// Faults are what the server does wrong.
type Faults struct {
	// Unreachable lets requests hang until their end, and drops open watches.
	Unreachable bool
	// Silent lets requests hang, and keeps open watches without a byte, as a half-open connection does.
	Silent bool
	// Gone answers 410 to each watch.
	Gone bool
	// NoBookmarks drops bookmarks.
	NoBookmarks bool
	// Repeat is how many of the last events are sent again after each event.
	Repeat int
	// Truncate ends watches in the middle of an event.
	Truncate bool
	// Delay is the time before each event.
	Delay time.Duration
}

// New starts a server.
func New() *Member {
	m := &Member{
		version: 1000, compacted: 1000, objects: map[string]map[string]json.RawMessage{},
		snapshots: map[uint64]map[string]map[string]json.RawMessage{}, changed: make(chan struct{}),
	}
	m.begin()
	m.server = httptest.NewServer(m)
	return m
}

// Version returns the current version.
func (m *Member) Version() uint64 {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.version
}

// Watches returns how many watches were started.
func (m *Member) Watches() int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.watches
}

// SetDocument makes a path answer with a JSON document, such as one of OpenAPI.
func (m *Member) SetDocument(path, text string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.documents == nil {
		m.documents = map[string]string{}
	}
	m.documents[path] = text
}

// URL is the address of the server. Client is its client.
func (m *Member) URL() string { return m.server.URL }

// Client returns a client of the server.
func (m *Member) Client() *http.Client { return m.server.Client() }

// Close ends all requests, and the watches that clients begin until the listener is closed: the server waits for them.
func (m *Member) Close() {
	m.Set(Faults{Unreachable: true})
	m.server.CloseClientConnections()
	m.server.Close()
}

// Set changes the faults.
func (m *Member) Set(f Faults) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.faults = f
	if f.Unreachable {
		m.generation++
	}
	m.notify()
}

// notify wakes all watches. The mutex is held.
func (m *Member) notify() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// CloseWatches ends all watches.
func (m *Member) CloseWatches() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.generation++
	m.notify()
}

// Compact forgets all events, so that older watches and pages get 410.
func (m *Member) Compact() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.compacted = m.version
	m.events = nil
	clear(m.snapshots)
}

// Restart closes all connections and forgets all events, as an API server does that starts again.
func (m *Member) Restart() {
	m.Compact()
	m.CloseWatches()
	m.server.CloseClientConnections()
}

// Restore begins the history again at another version, as after a restored backup, which lacks some of the objects.
func (m *Member) Restore(version uint64, lacks ...string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.history[len(m.history)-1].to = m.version
	m.version = version
	m.begin()
	for path, kind := range m.objects {
		for key, raw := range kind {
			if slices.Contains(lacks, key) {
				delete(kind, key)
				continue
			}
			m.version++
			kind[key] = stamp(decode(raw), m.version)
			m.remember(event{m.version, "ADDED", path, key, kind[key]})
		}
	}
	m.compacted = m.version
	m.events = nil
	clear(m.snapshots)
	m.generation++
	m.notify()
}

// begin starts an epoch of the history.
func (m *Member) begin() {
	m.history = append(m.history, epoch{m.version, m.version, map[string]map[string][]event{}})
}

// record adds an event for watches. The mutex is held.
func (m *Member) record(e event) {
	m.events = append(m.events, e)
	m.remember(e)
	m.notify()
}

// Advance raises the version, as writes of other kinds do.
func (m *Member) Advance() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.version++
	m.notify()
}

// Put creates or updates an object, and returns its version.
func (m *Member) Put(path string, o Object) uint64 {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.put(path, o)
	return m.version
}

// put stores an object, and returns it as it is stored. The mutex is held.
func (m *Member) put(path string, o Object) json.RawMessage {
	key := keyOf(o)
	kind := "MODIFIED"
	if m.objects[path] == nil {
		m.objects[path] = map[string]json.RawMessage{}
	}
	if _, ok := m.objects[path][key]; !ok {
		kind = "ADDED"
	}
	m.version++
	raw := stamp(o, m.version)
	m.objects[path][key] = raw
	m.record(event{m.version, kind, path, key, raw})
	return raw
}

// Delete removes an object, and reports whether there was one.
func (m *Member) Delete(path, namespace, name string) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.delete(path, namespace+"/"+name)
}

// delete removes the object of a key. The mutex is held.
func (m *Member) delete(path, key string) bool {
	old, ok := m.objects[path][key]
	if !ok {
		return false
	}
	delete(m.objects[path], key)
	m.version++
	m.record(event{m.version, "DELETED", path, key, stamp(decode(old), m.version)})
	return true
}

// Objects returns the versions of the objects of a kind by namespace/name.
func (m *Member) Objects(path string) map[string]string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	out := map[string]string{}
	for key, raw := range m.objects[path] {
		out[key] = decode(raw)["metadata"].(Object)["resourceVersion"].(string)
	}
	return out
}

// keyOf returns namespace/name.
func keyOf(o Object) string {
	metadata := o["metadata"].(Object)
	namespace, _ := metadata["namespace"].(string)
	return fmt.Sprintf("%s/%s", namespace, metadata["name"])
}

// stamp encodes an object with a version.
func stamp(o Object, version uint64) json.RawMessage {
	o = maps.Clone(o)
	metadata := maps.Clone(o["metadata"].(Object))
	metadata["resourceVersion"] = strconv.FormatUint(version, 10)
	o["metadata"] = metadata
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // Tests give objects that can be encoded.
	}
	return raw
}

func decode(raw json.RawMessage) Object {
	var o Object
	if err := json.Unmarshal(raw, &o); err != nil {
		panic(err) // The server encoded it.
	}
	return o
}

// split returns the path of the kind and the namespace of a request path.
func split(path string) (string, string) {
	parts := strings.Split(path, "/")
	if i := slices.Index(parts, "namespaces"); i > 0 && i+2 < len(parts) {
		return strings.Join(slices.Delete(slices.Clone(parts), i, i+2), "/"), parts[i+1]
	}
	return path, ""
}
