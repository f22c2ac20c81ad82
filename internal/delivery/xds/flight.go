package xds

import (
	"slices"
	"time"
)

// flight is a response that the client has not answered.
type flight struct {
	nonce     string
	version   string
	resources []*Resource // changed by it
	changed   time.Time   // when the oldest change in it came in
	sent      time.Time
}

// maxFlights bounds what is remembered about a client that never answers.
const maxFlights = 8

// waiting says until when the answer to an earlier response is waited for.
func (s *subscription) waiting(patience time.Duration) (until time.Time, ok bool) {
	if len(s.flights) == 0 {
		return time.Time{}, false
	}
	return s.flights[len(s.flights)-1].sent.Add(patience), true
}

func (s *subscription) launch(f flight) {
	if len(s.flights) == maxFlights {
		s.flights = slices.Delete(s.flights, 0, 1)
	}
	s.flights = append(s.flights, f)
}

// land finds the response that a nonce answers. Responses before it count as
// answered, too.
func (s *subscription) land(nonce string) (flight, bool) {
	i := slices.IndexFunc(s.flights, func(f flight) bool { return f.nonce == nonce })
	if i < 0 {
		return flight{}, false
	}
	f := s.flights[i]
	if s.flights = slices.Delete(s.flights, 0, i+1); len(s.flights) == 0 {
		s.flights = s.single[:0]
	}
	return f, true
}
