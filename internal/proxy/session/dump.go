package session

import (
	"maps"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// Status of sessions and stages.
const (
	statusInit         = "INIT"
	statusConnected    = "CONNECTED"
	statusDisconnected = "DISCONNECTED"
	statusFinalizing   = "FINALIZING"
	statusDestroyed    = "DESTROYED"
	statusReady        = "READY"
	statusRetrying     = "RETRYING"
	statusEnd          = "END"
)

// Event is something that happened to a session.
type Event struct {
	Event     string `json:"event"`
	Timestamp string `json:"timestamp"`
	Message   string `json:"message"`
	Content   any    `json:"content"`
}

// maxEvents limits the history of a session; the oldest events after the first ones are dropped.
const maxEvents = 100

func (s *Session) event(name, message string) {
	if name == "ERROR" {
		s.manager.Errors.Add(1)
	}
	e := Event{name, s.manager.now().UTC().Format(time.RFC3339Nano), message, nil}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) == maxEvents {
		s.events = append(s.events[:maxEvents/2], s.events[maxEvents/2+1:]...)
	}
	s.events = append(s.events, e)
}

func (s *Session) setStatus(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

// Dump is a session for the API.
type Dump struct {
	Name        string      `json:"name"`
	Metadata    any         `json:"metadata"`
	Source      StageDump   `json:"source"`
	Destination StageDump   `json:"destination"`
	Ingress     []StageDump `json:"ingress"`
	Egress      []StageDump `json:"egress"`
	Status      string      `json:"status"`
	Events      []Event     `json:"events"`
}

// StageDump is a connection of a session for the API.
type StageDump struct {
	Origin   string               `json:"origin,omitempty"`
	Listener *config.ListenerSpec `json:"listener,omitempty"`
	Endpoint *EndpointDump        `json:"endpoint,omitempty"`
	Status   string               `json:"status"`
}

// EndpointDump is the endpoint of a connection.
type EndpointDump struct {
	Name string              `json:"name"`
	Spec config.EndpointSpec `json:"spec"`
	// Address is host:port, or the path of a unix socket.
	Address string `json:"-"`
}

// Dump returns the session for the API.
func (s *Session) Dump() Dump {
	if s.kept != nil {
		return *s.kept
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := Dump{
		Name: s.name, Source: StageDump{Origin: s.Listener, Listener: s.Spec, Status: s.source.status},
		Destination: StageDump{Status: "PENDING"}, Ingress: []StageDump{}, Egress: []StageDump{},
		Status: s.status, Events: append([]Event{}, s.events...),
	}
	if s.Meta != nil && s.status != statusInit { // rewrites change it before
		if root, is := s.Meta.Root.(map[string]any); is {
			root = maps.Clone(root)
			delete(root, "name")
			d.Metadata = root
		}
	}
	for _, g := range s.stages {
		one := g.dump()
		switch g.role {
		case roleDestination:
			d.Destination = one
		case roleIngress:
			d.Ingress = append(d.Ingress, one)
		case roleEgress:
			d.Egress = append(d.Egress, one)
		}
	}
	return d
}

func (g *stage) dump() StageDump {
	d := StageDump{Origin: g.slot.Name, Status: g.status}
	if g.endpoint != nil {
		d.Endpoint = &EndpointDump{g.endpoint.Name, g.endpoint.Spec, g.endpoint.Address}
	}
	return d
}
