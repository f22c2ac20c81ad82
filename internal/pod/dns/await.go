package dns

import (
	"context"
	"time"
)

// await answers a question about a name whose record is pending: when the record is replaced, or with SERVFAIL after
// the total time limit. It returns nil if the context has ended.
func (s *Server) await(ctx context.Context, msg []byte, q question, over transport) []byte {
	limit := time.NewTimer(s.timing.total)
	defer limit.Stop()
	for {
		replaced := *s.replaced.Load() // before the lookup, so that no change is missed
		e := s.lookup(q.name)
		if e == nil { // the name was removed
			return s.forward(ctx, msg, q, over)
		}
		if !e.pending {
			out := e.answer(msg, over)
			if out == nil {
				return s.forward(ctx, msg, q, over)
			}
			s.counts.answered.Add(1)
			return out
		}
		s.requested(e.name)
		select {
		case <-ctx.Done():
			return nil
		case <-limit.C:
			s.counts.failed.Add(1)
			s.logger.Debug("the addresses of a name are not known", "name", e.name)
			return failure(msg)
		case <-replaced:
		}
	}
}
