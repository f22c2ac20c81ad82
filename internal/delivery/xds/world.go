package xds

import (
	"hash/maphash"
	"math"
	"time"
)

// world is what the state-of-the-world variant of the protocol needs more than
// the incremental one. There, a request lists all that the client wants; a
// response holds all clusters or listeners, or those of other types that
// changed; and there is no way to say that one of the others is not there.
type world struct {
	explicit bool   // it named something: from now on no names mean nothing, and not everything
	list     uint64 // hash of the names in the last request
	nonce    string // of the last response; others are stale
}

// wholeState says whether a response has to hold all resources of the type:
// what it lacks, the client removes.
func (s *subscription) wholeState() bool { return s.world != nil && wildcardByDefault(s.typeURL) }

// stale: the client has not seen the last response yet. It will ask again when it has.
func (s *subscription) stale(req *request) bool {
	return s.world != nil && req.nonce != "" && s.world.nonce != "" && req.nonce != s.world.nonce
}

// list makes the names what the client wants.
func (s *subscription) list(names []string, first bool, now time.Time) {
	w := s.world
	w.explicit = w.explicit || len(names) > 0
	if !w.explicit {
		if first && wildcardByDefault(s.typeURL) {
			s.setWildcard(now)
		}
		return
	}
	hash := hashOf(names)
	if !first && hash == w.list {
		return // most requests only acknowledge
	}
	w.list = hash
	listed, all := make(map[uint32]struct{}, len(names)), false
	for _, name := range names {
		if name == "*" {
			all = true
			continue
		}
		n, known := s.table.find(name)
		if !known || s.entry(n)&entryNamed == 0 {
			s.subscribe(name, now)
			n, _ = s.table.find(name)
		}
		listed[n] = struct{}{}
	}
	switch {
	case all && !s.wildcard:
		s.setWildcard(now)
	case !all && s.wildcard:
		s.dropWildcard()
	}
	if s.named == len(listed) {
		return
	}
	for i, e := range s.entries {
		if _, wanted := listed[uint32(i)]; e&entryNamed != 0 && !wanted {
			s.unsubscribe(s.table.name(uint32(i)), now)
		}
	}
}

var listSeed = maphash.MakeSeed()

func hashOf(names []string) uint64 {
	var h maphash.Hash
	h.SetSeed(listSeed)
	for _, name := range names {
		_, _ = h.WriteString(name)
		_ = h.WriteByte(0xff) // in no name, since they are UTF-8
	}
	return h.Sum64()
}

// fill makes a response of the names to do. If it has to hold the whole state,
// clusters that are to go stay in it until nothing refers to them any more.
func (s *subscription) fill(todo []uint32, limit int, out *response) {
	if !s.wholeState() {
		s.take(todo, limit, out)
		return
	}
	s.take(todo, math.MaxInt, out)
	for i := range s.table.slots {
		n := uint32(i)
		if s.table.slots[i].resource == nil || !s.wildcard && s.entry(n)&entryNamed == 0 {
			continue
		}
		if r := s.table.resource(n); r != nil {
			out.whole = append(out.whole, r)
		} else if kept, _ := s.gone.get(n); kept != nil {
			out.whole = append(out.whole, kept)
		}
	}
}
