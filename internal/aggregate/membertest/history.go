package membertest

import (
	"encoding/json"
	"slices"
)

// epoch is the history between two restored backups, with all changes, whatever watches can go back to.
type epoch struct {
	from, to uint64
	// changes are those of an object in the order of versions, by path and key.
	changes map[string]map[string][]event
}

// remember adds an event to the history. The mutex is held.
func (m *Member) remember(e event) {
	current := &m.history[len(m.history)-1]
	if current.changes[e.path] == nil {
		current.changes[e.path] = map[string][]event{}
	}
	current.changes[e.path][e.key] = append(current.changes[e.path][e.key], e)
	current.to = e.version
}

// StateAt returns the objects that the member had at a version, by namespace/name, and false if it never had the
// version. Versions of two histories are told apart if backups are restored at versions that were never used.
func (m *Member) StateAt(path string, version uint64) (map[string]json.RawMessage, bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.history[len(m.history)-1].to = m.version
	for _, e := range slices.Backward(m.history) {
		if version < e.from || version > e.to {
			continue
		}
		state := map[string]json.RawMessage{}
		for key, changes := range e.changes[path] {
			i, found := slices.BinarySearchFunc(changes, version, compareVersion)
			if found {
				i++
			}
			if i > 0 && changes[i-1].kind != "DELETED" {
				state[key] = changes[i-1].object
			}
		}
		return state, true
	}
	return nil, false
}

func compareVersion(e event, version uint64) int {
	switch {
	case e.version < version:
		return -1
	case e.version > version:
		return 1
	}
	return 0
}
