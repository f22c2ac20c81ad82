package xds

import (
	"maps"
	"time"

	"anymesh.dev/anymesh/internal/truncate"
)

// ackResult is the effect of a request on an earlier response.
type ackResult struct {
	acked, nacked, unknownNonce bool
	response                    inflightResponse // without its resources
	resources                   int              // number of resources that were NACKed
	message                     string
	// rejected are the published resources that the client rejected, with the rejected version by name.
	rejected map[string]string
	// refused are those of them that the response held.
	refused map[string]string
}

// maxMessage is the maximum length of a stored NACK message, in bytes.
const maxMessage = 4096

// handleAck resolves the response that the nonce of a request refers to.
func (s *subscription) handleAck(req *request, now time.Time) ackResult {
	if req.nonce == "" {
		return ackResult{}
	}
	f, ok := s.resolve(req.nonce)
	if !ok {
		// a SotW client repeats the last nonce when it changes its subscription
		return ackResult{unknownNonce: s.sotw == nil}
	}
	resources := f.resources
	f.resources = nil // they are not those of this response any more once the list is reused
	defer f.list.done()
	if req.errorDetail == nil {
		s.ackedVersion = f.version
		if s.fullState() {
			s.rejected = nil // the response held all resources, and all were accepted
		}
		if len(s.rejected) > 0 {
			for _, r := range resources {
				delete(s.rejected, r.Name)
			}
		}
		return ackResult{acked: true, response: f, rejected: s.stillRejected()}
	}
	message := truncate.Text(req.errorDetail.GetMessage(), maxMessage)
	s.lastNack = &Nack{Time: now, Message: message}
	for _, r := range resources {
		if s.rejected == nil {
			s.rejected = map[string]string{}
		}
		s.lastNack.Names = append(s.lastNack.Names, r.Name)
		s.rejected[r.Name] = r.Version
	}
	out := ackResult{nacked: true, response: f, resources: len(resources), message: message, rejected: s.stillRejected()}
	out.refused = map[string]string{}
	for _, r := range resources {
		if _, still := out.rejected[r.Name]; still {
			out.refused[r.Name] = r.Version
		}
	}
	return out
}

// stillRejected returns the rejected resources that are still published in the rejected version, and drops the others.
func (s *subscription) stillRejected() map[string]string {
	if len(s.rejected) == 0 {
		return nil
	}
	for name, version := range s.rejected {
		if r := s.table.published(name); r == nil || r.Version != version {
			delete(s.rejected, name)
		}
	}
	return maps.Clone(s.rejected)
}
