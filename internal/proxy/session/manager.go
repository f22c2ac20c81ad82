package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/object"
	"anymesh.dev/anymesh/internal/proxy/stream"
)

// Connector connects to endpoints.
type Connector interface {
	// Connect returns a stream to an endpoint; the endpoint of pseudo clusters is nil.
	Connect(ctx context.Context, c *cluster.Cluster, e *cluster.Endpoint, meta *metadata.Tree) (stream.Stream, error)
}

// Manager runs sessions.
type Manager struct {
	Connector Connector
	// Clock returns the time. Default: time.Now.
	Clock func() time.Time
	// Errors counts sessions that had an error.
	Errors atomic.Uint64
	// Ended is called with each session that has ended; may be nil.
	Ended func(*Session)

	mu       sync.Mutex
	sessions map[string]*Session
	ended    []*Session // tracked, by the time of their removal
}

// Source is what a listener accepted.
type Source struct {
	// Name is the name of the session. A number is appended if it is in use.
	Name     string
	Listener string
	Spec     *config.ListenerSpec
	Track    time.Duration
	Stream   stream.Stream
	Meta     *metadata.Tree
	// Rules returns the current rule list, which decides about the route; nil if Route is set.
	Rules func() *object.Slot[object.RuleList]
	Route *object.Route
	// Destination is the cluster that was chosen for the session; nil if the session chooses it.
	Destination *object.Slot[cluster.Cluster]
	// Fail tells the client why there is no connection; may be nil.
	Fail func(status int, content string)
	// Ready tells the client that there is one; may be nil.
	Ready func() error
	// Opened returns the stream after Ready, if it is another one; may be nil.
	Opened func() stream.Stream
}

// maxTracked limits the ended sessions that are kept.
const maxTracked = 10_000

// Run runs a session until its end.
func (m *Manager) Run(ctx context.Context, source Source) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &Session{Source: source, manager: m, context: ctx, cancel: cancel, status: statusInit, Begun: m.now()}
	s.source = &stage{session: s, role: roleSource, stream: source.Stream, status: statusReady}
	s.event("INIT", "")
	m.add(s)
	defer m.end(s)
	s.run(ctx)
}

func (m *Manager) now() time.Time {
	if m.Clock != nil {
		return m.Clock()
	}
	return time.Now()
}

// add gives the session a unique name.
func (m *Manager) add(s *Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.name(s)
}

// name requires the lock.
func (m *Manager) name(s *Session) {
	if m.sessions == nil {
		m.sessions = map[string]*Session{}
	}
	name := s.Source.Name
	for k := 1; m.sessions[name] != nil; k++ {
		name = fmt.Sprintf("%s_%d", s.Source.Name, k)
	}
	s.name = name
	m.sessions[name] = s
}

// end removes the session, or keeps it for a while.
func (m *Manager) end(s *Session) {
	s.setStatus(statusDestroyed)
	s.event("DESTROY", "")
	if m.Ended != nil {
		m.Ended(s)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.Track <= 0 {
		delete(m.sessions, s.name)
		return
	}
	m.keep(s)
}

// Keep lists something else as a session that has ended, for a while.
func (m *Manager) Keep(d Dump, listener string, track time.Duration) {
	s := &Session{Source: Source{Name: d.Name, Listener: listener, Track: track}, manager: m, kept: &d, cancel: func() {}}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.name(s)
	d.Name = s.name
	m.keep(s)
}

// keep requires the lock.
func (m *Manager) keep(s *Session) {
	if len(m.ended) == maxTracked {
		delete(m.sessions, m.ended[0].name)
		m.ended = slices.Delete(m.ended, 0, 1)
	}
	m.ended = append(m.ended, s)
	time.AfterFunc(s.Track, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if i := slices.Index(m.ended, s); i >= 0 {
			m.ended = slices.Delete(m.ended, i, i+1)
			delete(m.sessions, s.name)
		}
	})
}

// Get returns a session; nil if there is none of this name.
func (m *Manager) Get(name string) *Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[name]
}

// List returns all sessions by name.
func (m *Manager) List() []*Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Session) int { return strings.Compare(a.name, b.name) })
	return all
}

// Active returns the number of sessions that have not ended.
func (m *Manager) Active() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.sessions) - len(m.ended)
}

// Session is one connection of a client with all that it is connected to.
type Session struct {
	Source
	name    string
	manager *Manager
	context context.Context
	cancel  func()
	moved   atomic.Int64 // pieces of data, to notice idle sessions
	// Begun is when it began; Received and Sent count bytes from and to the client.
	Begun          time.Time
	Received, Sent atomic.Int64
	kept           *Dump // of Keep

	source *stage
	mu     sync.Mutex // guards the fields below
	route  *object.Route
	stages []*stage // destination, ingress, egress
	status string
	events []Event
}

// Name returns the unique name.
func (s *Session) Name() string { return s.name }

// End ends the session.
func (s *Session) End() { s.cancel() }

// Uses reports whether the session is connected to a cluster.
func (s *Session) Uses(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.stages, func(g *stage) bool { return g.slot.Name == name })
}

// Disconnect closes the connections to an endpoint. The retry policy of the route may connect to another one.
func (s *Session) Disconnect(e *cluster.Endpoint) {
	s.disconnect(func(g *stage) bool { return g.endpoint == e })
}

// LeaveRemoved closes the connections over UDP to endpoints that their clusters no longer have, as Disconnect does.
// Nobody closes the other end of these.
func (s *Session) LeaveRemoved() {
	s.disconnect(func(g *stage) bool {
		now := g.slot.Get()
		return now != nil && g.endpoint != nil && now.Spec.Datagrams() && !now.Has(g.endpoint.Address)
	})
}

func (s *Session) disconnect(from func(*stage) bool) {
	s.mu.Lock()
	var open []stream.Stream
	for _, g := range s.stages {
		if g.stream != nil && from(g) {
			open = append(open, g.stream)
		}
	}
	s.mu.Unlock()
	for _, one := range open {
		_ = one.Close() // the stage sees it
	}
}
