package xds

import (
	"sync"
	"time"
)

// group is what is published for one key, with the streams that get it. Its
// lock guards both, and is never held while anything is sent.
type group struct {
	key string

	mu        sync.Mutex
	published bool // before the first Publish, silence: an empty answer would empty the sidecar
	closed    bool
	state     state
	streams   []*stream

	// telling is held while the observer is told, so that it hears things in
	// their order. It is taken before mu, and never by those who publish.
	telling sync.Mutex
}

// groups are all keys.
type groups struct {
	mu    sync.Mutex
	byKey map[string]*group
}

func (g *groups) get(key string) *group {
	g.mu.Lock()
	defer g.mu.Unlock()
	found := g.byKey[key]
	if found == nil {
		found = &group{key: key, state: state{}}
		g.byKey[key] = found
	}
	return found
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

// forgetIfUnused drops a key that has neither clients nor configuration, so
// that keys of clients that came and went do not pile up.
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

// locked runs f with the group of the key that is current, under its lock.
func (g *groups) locked(key string, f func(*group)) {
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

// Publish makes the snapshot what the clients of the key have to know, in
// place of what was published before. The time until their ACKs is counted from
// since, when the event came in that made the change; zero is now.
func (s *Server) Publish(key string, snapshot *Snapshot, since time.Time) {
	var touched []*stream
	s.groups.locked(key, func(g *group) {
		first := !g.published
		g.published = true
		touched = g.changed(g.state.replace(snapshot), first, since)
	})
	wakeUp(touched)
}

// Update changes some resources of a key and leaves the others. Its cost grows
// with the change only. Resources that are removed and changed in one call are
// changed. It does nothing and returns false before the first Publish of the key.
// The time until ACKs is counted from since, as with Publish.
func (s *Server) Update(key string, changed []*Resource, removed []Ref, since time.Time) bool {
	ok := false
	var touched []*stream
	s.groups.locked(key, func(g *group) {
		if ok = g.published; !ok {
			return
		}
		var all []change
		for _, ref := range removed {
			if c, did := g.state.drop(ref); did {
				all = append(all, c)
			}
		}
		for _, r := range changed {
			if c, did := g.state.put(r); did {
				all = append(all, c)
			}
		}
		touched = g.changed(all, false, since)
	})
	wakeUp(touched)
	if !ok {
		s.forgetIfUnused(key)
	}
	return ok
}

func (s *Server) forgetIfUnused(key string) { s.groups.forgetIfUnused(s.groups.get(key)) }

// changed tells the streams, and returns those that have to be woken when the lock is free; all is whether those that waited for the
// first Publish do.
func (g *group) changed(changes []change, all bool, since time.Time) []*stream {
	if since.IsZero() {
		since = time.Now()
	}
	touched := make([]*stream, 0, len(g.streams))
	for _, st := range g.streams {
		cares := all
		for _, c := range changes {
			if st.session.mark(c, since) {
				cares = true
			}
		}
		if cares {
			touched = append(touched, st)
		}
	}
	return touched
}

func wakeUp(all []*stream) {
	for _, st := range all {
		st.wakeUp()
	}
}

// Remove forgets a key. Its clients are disconnected; they keep what they have,
// and have to be authorised again when they come back.
func (s *Server) Remove(key string) {
	g := s.groups.get(key)
	g.mu.Lock()
	g.published = false
	g.state.replace(&Snapshot{}) // in place: the streams that are ending refer to it
	for _, st := range g.streams {
		st.end(errRemoved)
	}
	g.mu.Unlock()
	s.groups.forgetIfUnused(g)
}

// Disconnect ends the streams that match says true for, and returns how many.
// Their clients come back at once, are authorised again, and get only what
// differs. It is for when a client belongs under another key now.
func (s *Server) Disconnect(match func(Client) bool) int {
	n := 0
	for _, g := range s.groups.all() {
		g.mu.Lock()
		for _, st := range g.streams {
			if match(st.client()) {
				st.end(errMoved)
				n++
			}
		}
		g.mu.Unlock()
	}
	return n
}
