package xds

import (
	"cmp"
	"slices"
	"time"
)

// Client describes one connected stream.
type Client struct {
	Key       string
	Identity  string // as the Authorizer named it
	NodeID    string
	Address   string // of the connection; for people to read, not to trust
	Connected time.Time
	Types     []ClientType // ordered by type URL
}

// ClientType is what a client has of one resource type.
type ClientType struct {
	TypeURL      string
	Wildcard     bool
	Names        int // asked for by name
	Resources    int // the client has, as far as it was sent
	SentVersion  string
	AckedVersion string
	Pending      int   // resources that changed and were not sent yet
	Unanswered   int   // responses without ACK or NACK
	LastNack     *Nack // nil if there was none
}

// Nack is a response that a client refused.
type Nack struct {
	Time    time.Time
	Names   []string
	Message string
}

// Clients returns all connected clients, ordered by key, identity and age.
func (s *Server) Clients() []Client {
	var all []Client
	for _, g := range s.groups.all() {
		g.mu.Lock()
		for _, st := range g.streams {
			all = append(all, st.client())
		}
		g.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b Client) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Identity, b.Identity), a.Connected.Compare(b.Connected))
	})
	return all
}

// client needs the group's lock.
func (st *stream) client() Client {
	c := Client{
		Key: st.group.key, Identity: st.identity, NodeID: st.session.id,
		Address: st.address, Connected: st.connected,
	}
	for _, sub := range st.session.subs {
		c.Types = append(c.Types, sub.describe())
	}
	slices.SortFunc(c.Types, func(a, b ClientType) int { return cmp.Compare(a.TypeURL, b.TypeURL) })
	return c
}

func (s *subscription) describe() ClientType {
	t := ClientType{
		TypeURL: s.typeURL, Wildcard: s.wildcard, Names: s.named,
		SentVersion: s.sentVersion, AckedVersion: s.ackedVersion,
		Pending: s.dirty.len() + s.gone.len(), Unanswered: len(s.flights), LastNack: s.nack,
	}
	for _, e := range s.entries {
		if e&entryHeld != 0 {
			t.Resources++
		}
	}
	return t
}
