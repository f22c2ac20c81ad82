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
	subs    []subscribed        // by step, then type
	usual   [5]subscribed       // room for subs: Envoy asks for five types, of what it is served
	serial  uint64              // of the last nonce
	cold    map[string]struct{} // clusters sent before the client has asked for endpoints
}

// subscribed is a subscription, with what is asked about all of them at each change and answer: they lie apart in memory, and most have
// nothing to do.
type subscribed struct {
	*subscription
	table *table
	step  step
	busy  bool // it may have something to send, or wait for an answer
}

func newSession(opts *Options, node *corev3.Node, world bool) *session {
	s := &session{opts: opts, world: world, id: node.GetId(), cluster: node.GetCluster()}
	s.subs = s.usual[:0]
	return s
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
	if !known && sub.step == stepEndpoints {
		for name := range s.cold {
			sub.again(name, now)
		}
		s.cold = nil
	}
	if sub.named > s.opts.NamesPerType {
		return none, tooManyNames(s.opts, sub.typeURL)
	}
	did := sub.answered(&req, now)
	sub.busy = sub.active()
	return did, nil
}

// of is the subscription to a type, nil if there is none. There are few.
func (s *session) of(typeURL string) *subscribed {
	step := stepOf(typeURL)
	for i := range s.subs {
		if sub := &s.subs[i]; sub.step == step && (step != stepOthers || sub.typeURL == typeURL) {
			return sub
		}
	}
	return nil
}

func (s *session) add(typeURL string, published state) *subscribed {
	sub := newSubscription(typeURL, published.of(typeURL))
	if s.world {
		sub.world = &world{}
	}
	s.subs = append(s.subs, subscribed{subscription: sub, table: sub.table, step: sub.step, busy: true})
	slices.SortFunc(s.subs, func(a, b subscribed) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.typeURL, b.typeURL))
	})
	return s.of(typeURL)
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
	s.dirty.expect(min(len(req.subscribe), len(s.table.slots)))
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
	for i := range s.subs {
		if sub := &s.subs[i]; sub.table == c.table {
			cares := sub.subscription.mark(c, since)
			sub.busy = sub.busy || cares
			return cares
		}
	}
	return false
}

// due says whether there may be something to send, now or later.
func (s *session) due() bool {
	return slices.ContainsFunc(s.subs, func(sub subscribed) bool { return sub.busy && sub.subscription.due() })
}

// close lets go of what the session holds in the published state.
func (s *session) close(published state) {
	for _, sub := range s.subs {
		sub.subscription.close()
		published.release(sub.typeURL)
	}
	s.subs = nil
}

// next returns the response to send now. If there is one to send that has to
// wait for an answer, it returns how long at most; zero means nothing to do.
func (s *session) next(now time.Time) (*response, time.Duration) {
	var hold time.Duration // by responses of the step at, which others of that step need not await
	at := steps
	for i := range s.subs {
		sub := &s.subs[i]
		if !sub.busy {
			continue
		}
		urgent := sub.step > at
		if urgent && (at != stepClusters || sub.step != stepEndpoints) {
			return nil, hold
		}
		todo := sub.settle()
		sub.busy = sub.active()
		if urgent {
			todo = sub.onlyUrgent(todo)
		}
		if len(todo) == 0 && (urgent || !sub.owed) {
			continue
		}
		wait := s.blocked(sub.step, sub.subscription, now)
		if wait == 0 {
			return s.respond(sub, todo, now), 0
		}
		hold, at = max(hold, wait), sub.step
	}
	if hold > 0 {
		return nil, hold
	}
	for i := range s.subs { // clusters come before endpoints here, too
		sub := &s.subs[i]
		if !sub.busy || sub.gone.len() == 0 {
			continue
		}
		if wait := s.blocked(sub.removal, sub.subscription, now); wait > 0 {
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
	for i := range s.subs {
		other := &s.subs[i]
		if !other.busy || other.subscription != sub && (other.step >= st || st == stepEndpoints && other.step == stepClusters) {
			continue
		}
		if until, ok := other.waiting(s.opts.AckTimeout); ok {
			longest = max(longest, until.Sub(now))
		}
	}
	return longest
}

func (s *session) respond(sub *subscribed, todo []uint32, now time.Time) *response {
	s.serial++
	out := responses.Get().(*response)
	out.typeURL, out.nonce, out.version, out.world = sub.typeURL, strconv.FormatUint(s.serial, 10), sub.table.version(), s.world
	sub.fill(todo, s.opts.ResponseSize, out)
	if sub.world != nil {
		sub.world.nonce = out.nonce
	}
	sub.owed = false
	out.impatient = len(sub.flights) > 0
	if sub.step == stepClusters {
		s.warm(out.changed, now)
	}
	sub.sentVersion = out.version
	sub.launch(flight{nonce: out.nonce, version: out.version, resources: out.changed, changed: sub.since, sent: now})
	sub.busy = true
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
	endpoints.busy = endpoints.active()
}
