package cache

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"anymesh.dev/anymesh/internal/aggregate/version"
)

// maxMalformed limits the malformed objects of a kind in a cluster that are remembered.
const maxMalformed = 100

// errRelist says that an event cannot be applied, so that the kind has to be listed again.
var errRelist = errors.New("the event does not say which object it deletes")

// malformed is what can be read of an object that ingest rejects.
type malformed struct {
	namespace, name string
	// version is 0 if it cannot be read.
	version uint64
	reason  error
}

func newMalformed(raw []byte, reason error) malformed {
	var o struct {
		Metadata struct{ Namespace, Name, ResourceVersion string }
	}
	_ = json.Unmarshal(raw, &o) // Fields of the right type are set.
	m := malformed{namespace: o.Metadata.Namespace, name: o.Metadata.Name, reason: reason}
	m.version, _ = version.Number(o.Metadata.ResourceVersion)
	return m
}

func (m malformed) key() string { return fmt.Sprintf("%.253s/%.253s", m.namespace, m.name) }

// reject handles a malformed object of a list: the last known state of the object is kept, if there is one.
func (c *kindCache) reject(s *source, m malformed) *object {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	state := c.owner(s)
	if state == nil {
		return nil
	}
	state.remember(m)
	return c.find(state.cluster, m.namespace, m.name)
}

// rejectEvent handles a malformed object of an event that is not a deletion.
func (c *kindCache) rejectEvent(s *source, m malformed) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if state := c.owner(s); state != nil {
		state.remember(m)
		if m.version > state.position {
			state.position = m.version
			c.notify()
		}
	}
}

// remember records a malformed object in the status.
func (m *memberState) remember(o malformed) {
	if m.malformed == nil {
		m.malformed = map[string]string{}
	}
	key := o.key()
	if _, ok := m.malformed[key]; ok || len(m.malformed) < maxMalformed {
		m.malformed[key] = fmt.Sprintf("%.300s", o.reason)
	}
	m.reportMalformed()
}

// forget removes an object that is well-formed or deleted.
func (m *memberState) forget(key string) {
	if _, ok := m.malformed[key]; ok {
		delete(m.malformed, key)
		m.reportMalformed()
	}
}

func (m *memberState) reportMalformed() {
	m.status.Malformed, m.status.MalformedObject = len(m.malformed), ""
	if keys := slices.Sorted(maps.Keys(m.malformed)); len(keys) > 0 {
		m.status.MalformedObject = keys[0] + ": " + m.malformed[keys[0]]
	}
}

// forgetMalformed removes all malformed objects before a list finds them again.
func (c *kindCache) forgetMalformed(s *source) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if m := c.owner(s); m != nil {
		clear(m.malformed)
		m.reportMalformed()
	}
}
