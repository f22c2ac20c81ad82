package xds

import (
	"sync"
	"time"
)

// group holds the published resources of one key, and the streams that receive them. Its lock guards both. The lock
// is not held during a send.
type group struct {
	key string

	mu        sync.Mutex
	published bool // nothing is sent before the first Publish: an empty response would empty the sidecar
	closed    bool
	state     state
	streams   []*stream

	// observerMu serializes calls of the Observer. It is acquired before mu, and never by Publish or Update.
	observerMu sync.Mutex
}

// groups holds the groups of all keys.
type groups struct {
	mu    sync.Mutex
	byKey map[string]*group
}

func (g *groups) get(key string) *group {
	g.mu.Lock()
	defer g.mu.Unlock()
	found := g.byKey[key]
	if found == nil {
		found = &group{key: key, state: newState()}
		g.byKey[key] = found
	}
	return found
}

// find returns the group of a key, or nil.
func (g *groups) find(key string) *group {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.byKey[key]
}

func (g *groups) all() []*group {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make([]*group, 0, len(g.byKey))
	for _, one := range g.byKey {
		all = append(all, one)
	}
	return all
}

// forgetIfUnused removes a key without clients and without published resources.
func (g *groups) forgetIfUnused(one *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if !one.published && len(one.streams) == 0 && g.byKey[one.key] == one {
		one.closed = true
		delete(g.byKey, one.key)
	}
}

// withGroup runs f with the current group of the key, under the lock of the group.
func (g *groups) withGroup(key string, f func(*group)) {
	for {
		one := g.get(key)
		one.mu.Lock()
		if !one.closed {
			f(one)
			one.mu.Unlock()
			return
		}
		one.mu.Unlock()
	}
}

// Publish replaces the resources of a key with the snapshot. Time to ACK is measured from since, the time of the
// event behind the change; the zero time means now.
func (s *Server) Publish(key string, snapshot *Snapshot, since time.Time) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	var touched []*stream
	s.groups.withGroup(key, func(g *group) {
		first := !g.published
		g.published = true
		touched = g.markChanged(nil, g.replace(snapshot), first, orNow(since))
	})
	s.wakeAll(touched)
}

// replace replaces the resources with the snapshot, and returns the changes.
func (g *group) replace(snapshot *Snapshot) []change {
	if g.state.shared != nil {
		delete(g.state.shared.groups, g)
	}
	if snapshot.Shared != nil {
		snapshot.Shared.groups[g] = struct{}{}
	}
	return g.state.replace(snapshot, g.sessions())
}

func (g *group) sessions() []*session {
	all := make([]*session, 0, len(g.streams))
	for _, st := range g.streams {
		all = append(all, st.session)
	}
	return all
}

func orNow(since time.Time) time.Time {
	if since.IsZero() {
		return time.Now()
	}
	return since
}

// markChanged marks the changes in all streams, and appends the streams to wake after the lock is released. On the
// first publish, these are all streams.
func (g *group) markChanged(touched []*stream, changes []change, firstPublish bool, since time.Time) []*stream {
	for _, st := range g.streams {
		affected := firstPublish
		for _, c := range changes {
			if st.session.markChanged(c, since) {
				affected = true
			}
		}
		if affected {
			touched = append(touched, st)
		}
	}
	return touched
}

// Remove removes a key and closes the streams of its clients. The clients keep their configuration. When they
// reconnect, they are authorized again.
func (s *Server) Remove(key string) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	g := s.groups.get(key)
	g.mu.Lock()
	g.published = false
	g.replace(&Snapshot{}) // in place: streams that are closing refer to it
	for _, st := range g.streams {
		st.closeWith(errRemoved)
	}
	g.mu.Unlock()
	s.groups.forgetIfUnused(g)
}

// HasClients reports whether a key has streams.
func (s *Server) HasClients(key string) bool {
	g := s.groups.find(key)
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.streams) > 0
}

// Unpublish removes the resources of a key without streams, as if it was never published, and returns true. It returns
// false if the key has streams.
func (s *Server) Unpublish(key string) bool {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	g := s.groups.find(key)
	if g == nil {
		return true
	}
	g.mu.Lock()
	unused := len(g.streams) == 0
	if unused {
		g.replace(&Snapshot{})
		g.published = false
	}
	g.mu.Unlock()
	s.groups.forgetIfUnused(g)
	return unused
}

// Disconnect closes the streams of an identity that have another key than the given one, and returns their number. The
// client reconnects at once, is authorized again, and receives only differences. It is used when a client moves to
// another key. An empty key closes all streams of the identity.
func (s *Server) Disconnect(identity, key string) int {
	n := 0
	for _, st := range s.identities.of(identity) {
		if st.group.key == key {
			continue
		}
		st.group.mu.Lock()
		if !st.closed {
			st.closeWith(errReconnect)
			n++
		}
		st.group.mu.Unlock()
	}
	return n
}
