package xds

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
)

// session is the protocol with one client, without I/O: requests go in through
// handle, responses come out of next. It is guarded by its group's lock.
type session struct {
	opts    *Options
	world   bool   // the state-of-the-world variant
	id      string // of the node in the first request; the rest of it may be large, and is not kept
	cluster string
	subs    []*subscription     // by step, then type
	serial  uint64              // of the last nonce
	cold    map[string]struct{} // clusters sent before the client has asked for endpoints
}

func newSession(opts *Options, node *corev3.Node, world bool) *session {
	return &session{opts: opts, world: world, id: node.GetId(), cluster: node.GetCluster()}
}

// handle takes in one request. An error ends the stream.
func (s *session) handle(req request, published state, now time.Time) (reaction, error) {
	var none reaction
	// Clients may repeat the node, or only its ID.
	if n := req.node; n != nil && (n.GetId() != s.id || n.GetCluster() != s.cluster) {
		return none, refuse(reasonNode, codes.InvalidArgument, "the node differs from that of the first request")
	}
	if err := req.check(s.opts); err != nil {
		return none, err
	}
	sub := s.of(req.typeURL)
	known := sub != nil
	if !known {
		if len(s.subs) == s.opts.TypesPerStream {
			return none, refuse(reasonTypes, codes.ResourceExhausted, "more than %d resource types on one stream", s.opts.TypesPerStream)
		}
		sub = s.add(req.typeURL, published)
	}
	if sub.stale(&req) {
		return reaction{unknownNonce: true}, nil
	}
	sub.request(&req, !known, now)
	if !known && sub.typeURL == EndpointType {
		for name := range s.cold {
			sub.again(name, now)
		}
		s.cold = nil
	}
	if sub.named > s.opts.NamesPerType {
		return none, tooManyNames(s.opts, sub.typeURL)
	}
	return sub.answered(&req, now), nil
}

// of is the subscription to a type, nil if there is none. There are few.
func (s *session) of(typeURL string) *subscription {
	for _, sub := range s.subs {
		if sub.typeURL == typeURL {
			return sub
		}
	}
	return nil
}

func (s *session) add(typeURL string, published state) *subscription {
	sub := newSubscription(typeURL, published.of(typeURL))
	if s.world {
		sub.world = &world{}
	}
	s.subs = append(s.subs, sub)
	slices.SortFunc(s.subs, func(a, b *subscription) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.typeURL, b.typeURL))
	})
	return sub
}

// request takes in the subscription changes of a request.
func (s *subscription) request(req *request, first bool, now time.Time) {
	if s.world != nil {
		s.list(req.names, first, now)
		return
	}
	if first {
		// Also to a client that has all there is: Envoy begins anew with its pauses between streams only once it has had a response.
		s.owed = len(req.subscribe) == 0
		if s.owed && wildcardByDefault(s.typeURL) {
			s.setWildcard(now)
		}
	}
	for _, name := range req.unsubscribe {
		if name == "*" {
			s.dropWildcard()
		} else {
			s.unsubscribe(name, now)
		}
	}
	s.expect(len(req.subscribe))
	for _, name := range req.subscribe {
		if name == "*" {
			s.setWildcard(now)
		} else {
			s.subscribe(name, now)
		}
	}
	if first { // the field means nothing later on
		for name, version := range req.versions {
			s.resume(name, version, now)
		}
	}
}

// mark notes that a resource changed, and says whether the client cares.
func (s *session) mark(c change, since time.Time) bool {
	for _, sub := range s.subs {
		if sub.table == c.table {
			return sub.mark(c, since)
		}
	}
	return false
}

// due says whether there may be something to send, now or later.
func (s *session) due() bool {
	return slices.ContainsFunc(s.subs, (*subscription).due)
}

// close lets go of what the session holds in the published state.
func (s *session) close(published state) {
	for _, sub := range s.subs {
		sub.close()
		published.release(sub.typeURL)
	}
	s.subs = nil
}

// next returns the response to send now. If there is one to send that has to
// wait for an answer, it returns how long at most; zero means nothing to do.
func (s *session) next(now time.Time) (*response, time.Duration) {
	var held time.Duration // by responses of the step at, which others of that step need not await
	at := steps
	for _, sub := range s.subs {
		st := sub.step
		urgent := st > at
		if urgent && (at != stepClusters || st != stepEndpoints) {
			return nil, held
		}
		todo := sub.settle()
		if urgent {
			todo = sub.onlyUrgent(todo)
		}
		if len(todo) == 0 && (urgent || !sub.owed) {
			continue
		}
		wait := s.blocked(st, sub, now)
		if wait == 0 {
			return s.respond(sub, todo, now), 0
		}
		held, at = max(held, wait), st
	}
	if held > 0 {
		return nil, held
	}
	for _, sub := range s.subs { // clusters come before endpoints here, too
		if len(sub.gone) == 0 {
			continue
		}
		if wait := s.blocked(sub.removal, sub, now); wait > 0 {
			return nil, wait
		}
		return s.respond(sub, sub.leaving(), now), 0
	}
	return nil, 0
}

// blocked is how long a step has to wait for answers to its own type's and all
// earlier steps' responses. Endpoints need not wait for the answer about their
// clusters, only arrive after them: Envoy gives it when it has the endpoints.
func (s *session) blocked(st step, sub *subscription, now time.Time) time.Duration {
	var longest time.Duration
	for _, other := range s.subs {
		if len(other.flights) == 0 || other != sub && (other.step >= st || st == stepEndpoints && other.step == stepClusters) {
			continue
		}
		if until, ok := other.waiting(s.opts.AckTimeout); ok {
			longest = max(longest, until.Sub(now))
		}
	}
	return longest
}

func (s *session) respond(sub *subscription, todo []uint32, now time.Time) *response {
	s.serial++
	out := responses.Get().(*response)
	out.typeURL, out.nonce, out.version, out.world = sub.typeURL, strconv.FormatUint(s.serial, 10), sub.table.version(), s.world
	sub.fill(todo, s.opts.ResponseSize, out)
	if sub.world != nil {
		sub.world.nonce = out.nonce
	}
	sub.owed = false
	out.impatient = len(sub.flights) > 0
	if sub.typeURL == ClusterType {
		s.warm(out.changed, now)
	}
	sub.sentVersion = out.version
	sub.launch(flight{nonce: out.nonce, version: out.version, resources: out.changed, changed: sub.since, sent: now})
	return out
}

// warm has the endpoints of clusters sent again: a client that gets a cluster in a new version waits for its endpoints, and, since
// it is subscribed to them already, does not ask. Those who have yet to ask for endpoints may ask as if they had them.
func (s *session) warm(clusters []*Resource, now time.Time) {
	endpoints := s.of(EndpointType)
	if endpoints == nil {
		if s.cold == nil {
			s.cold = make(map[string]struct{}, len(clusters))
		}
		for _, c := range clusters {
			s.cold[c.Name] = struct{}{}
		}
		return
	}
	for _, c := range clusters {
		endpoints.again(c.Name, now)
	}
}
