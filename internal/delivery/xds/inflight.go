package xds

import (
	"slices"
	"time"
)

// inflightResponse is a response without an ACK or NACK.
type inflightResponse struct {
	nonce     string
	version   string
	resources []*Resource   // changed resources in the response
	list      *resourceList // their memory; may be nil
	changedAt time.Time     // time of the event behind the oldest change
	sentAt    time.Time
}

// maxInflight is the number of responses that are tracked for a client that never sends an ACK.
const maxInflight = 8

// ackDeadline returns the time until which other responses wait for the ACK of the last response.
func (s *subscription) ackDeadline(ackTimeout time.Duration) (until time.Time, ok bool) {
	if len(s.inflight) == 0 {
		return time.Time{}, false
	}
	return s.inflight[len(s.inflight)-1].sentAt.Add(ackTimeout), true
}

func (s *subscription) track(f inflightResponse) {
	if len(s.inflight) == maxInflight {
		s.inflight[0].list.done()
		s.inflight = slices.Delete(s.inflight, 0, 1)
	}
	s.inflight = append(s.inflight, f)
}

// resolve returns the response with the nonce, and drops it and all earlier ones. The caller releases its list.
func (s *subscription) resolve(nonce string) (inflightResponse, bool) {
	i := slices.IndexFunc(s.inflight, func(f inflightResponse) bool { return f.nonce == nonce })
	if i < 0 {
		return inflightResponse{}, false
	}
	f := s.inflight[i]
	for _, earlier := range s.inflight[:i] {
		earlier.list.done()
	}
	if s.inflight = slices.Delete(s.inflight, 0, i+1); len(s.inflight) == 0 {
		s.inflight = s.inflightBuf[:0]
	}
	return f, true
}
