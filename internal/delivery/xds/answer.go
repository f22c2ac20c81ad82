package xds

import (
	"maps"
	"slices"
	"time"
	"unicode/utf8"
)

// reaction is what a request says about an earlier response.
type reaction struct {
	acked, rejected, unknownNonce bool
	flight                        flight
	message                       string
	refuses                       []string // names of resources that it refuses, in the version that is published
}

// maxMessage bounds what is kept of a client's error text, in bytes.
const maxMessage = 4096

// answered works out what a request says about the response its nonce names.
func (s *subscription) answered(req *request, now time.Time) reaction {
	if req.nonce == "" {
		return reaction{}
	}
	f, ok := s.land(req.nonce)
	if !ok {
		// In the other variant a client repeats the last nonce when it changes its subscription.
		return reaction{unknownNonce: s.world == nil}
	}
	if req.failure == nil {
		s.ackedVersion = f.version
		if s.wholeState() {
			s.refused = nil // it holds all of what it accepted
		}
		for _, r := range f.resources {
			delete(s.refused, r.Name)
		}
		return reaction{acked: true, flight: f, refuses: s.refusals()}
	}
	message := truncate(req.failure.GetMessage(), maxMessage)
	s.nack = &Nack{Time: now, Message: message}
	for _, r := range f.resources {
		if s.refused == nil {
			s.refused = map[string]string{}
		}
		s.nack.Names = append(s.nack.Names, r.Name)
		s.refused[r.Name] = r.Version
	}
	return reaction{rejected: true, flight: f, message: message, refuses: s.refusals()}
}

// refusals forgets what was refused and is published no more, and returns the rest.
func (s *subscription) refusals() []string {
	if len(s.refused) == 0 {
		return nil
	}
	for name, version := range s.refused {
		if r := s.table.published(name); r == nil || r.Version != version {
			delete(s.refused, name)
		}
	}
	return slices.Sorted(maps.Keys(s.refused))
}

func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
