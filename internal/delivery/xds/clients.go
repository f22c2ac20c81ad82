package xds

import (
	"cmp"
	"slices"

	"anymesh.dev/anymesh/internal/delivery/xds/clientstatus"
)

type (
	// Client is clientstatus.Client.
	Client = clientstatus.Client
	// ClientType is clientstatus.ClientType.
	ClientType = clientstatus.ClientType
	// Nack is clientstatus.Nack.
	Nack = clientstatus.Nack
)

// Clients returns all connected clients, ordered by key, identity and age.
func (s *Server) Clients() []Client {
	var all []Client
	for _, g := range s.groups.all() {
		g.mu.Lock()
		for _, st := range g.streams {
			all = append(all, st.status())
		}
		g.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b Client) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Identity, b.Identity), a.Connected.Compare(b.Connected))
	})
	return all
}

// status requires the group's lock.
func (st *stream) status() Client {
	c := Client{
		Key: st.group.key, Identity: st.identity, NodeID: st.session.id,
		Address: st.address, Connected: st.connected,
	}
	for _, sub := range st.session.subs {
		c.Types = append(c.Types, sub.status())
	}
	slices.SortFunc(c.Types, func(a, b ClientType) int { return cmp.Compare(a.TypeURL, b.TypeURL) })
	return c
}

func (s *subscription) status() ClientType {
	t := ClientType{
		TypeURL: s.typeURL, Wildcard: s.wildcard, NamedResources: s.namedCount,
		SentVersion: s.sentVersion, AckedVersion: s.ackedVersion,
		PendingResources: s.dirty.len() + s.removals.len(), PendingAcks: len(s.inflight), LastNack: s.lastNack,
	}
	for name := range s.stillRejected() {
		if n, known := s.find(name); known && (s.wildcard || s.entry(n)&entryNamed != 0) {
			t.Rejected = append(t.Rejected, name)
		}
	}
	slices.Sort(t.Rejected)
	for _, e := range s.all() {
		if e&entrySent != 0 {
			t.Resources++
		}
	}
	return t
}
