package xds

import (
	"hash/maphash"
	"math"
	"time"
)

// sotwState is the state that only the state-of-the-world variant needs. A request lists all names of the
// subscription. A response holds all clusters or all listeners; for other types it holds the changed resources. The
// variant cannot express that a resource of another type does not exist.
type sotwState struct {
	namesSeen bool   // a request had names: from then on an empty list is empty, and not the wildcard
	namesHash uint64 // of the names in the last request
	nonce     string // of the last response; other nonces are stale
}

// fullState reports whether a response must hold all resources of the type. The client removes those that are
// missing.
func (s *subscription) fullState() bool { return s.sotw != nil && wildcardByDefault(s.typeURL) }

// staleNonce reports whether the request was sent before the client received the last response. The client sends
// another one after it.
func (s *subscription) staleNonce(req *request) bool {
	return s.sotw != nil && req.nonce != "" && s.sotw.nonce != "" && req.nonce != s.sotw.nonce
}

// setNames replaces the names of the subscription.
func (s *subscription) setNames(names []string, first bool, now time.Time) {
	w := s.sotw
	w.namesSeen = w.namesSeen || len(names) > 0
	if !w.namesSeen {
		if first && wildcardByDefault(s.typeURL) {
			s.setWildcard(now)
		}
		return
	}
	hash := hashNames(names)
	if !first && hash == w.namesHash {
		return // the common case: an ACK
	}
	w.namesHash = hash
	listed, all := make(map[uint32]struct{}, len(names)), false
	for _, name := range names {
		if s.budget.exceeded() {
			return
		}
		if name == "*" {
			all = true
			continue
		}
		n, known := s.find(name)
		if !known || s.entry(n)&entryNamed == 0 {
			s.subscribe(name, now)
			n, _ = s.find(name)
		}
		listed[n] = struct{}{}
	}
	switch {
	case all && !s.wildcard:
		s.setWildcard(now)
	case !all && s.wildcard:
		s.dropWildcard()
	}
	if s.namedCount == len(listed) {
		return
	}
	for n, e := range s.all() {
		if _, wanted := listed[n]; e&entryNamed != 0 && !wanted {
			s.unsubscribe(s.table.name(n), now)
		}
	}
}

var namesSeed = maphash.MakeSeed()

func hashNames(names []string) uint64 {
	var h maphash.Hash
	h.SetSeed(namesSeed)
	for _, name := range names {
		_, _ = h.WriteString(name)
		_ = h.WriteByte(0xff) // never part of UTF-8
	}
	return h.Sum64()
}

// fill adds pending names to a response. If the response holds the full state, it also holds clusters whose removal
// is still pending.
func (s *subscription) fill(todo []uint32, limit int, out *response) {
	if !s.fullState() {
		s.addToResponse(todo, limit, out)
		return
	}
	s.addToResponse(todo, math.MaxInt, out)
	for n := range s.table.numbers() {
		if !s.wildcard && s.entry(n)&entryNamed == 0 {
			continue
		}
		if r := s.table.resource(n); r != nil {
			out.full = append(out.full, r)
		} else if kept, _ := s.removals.get(n); kept != nil {
			out.full = append(out.full, kept)
		}
	}
}
