package xds

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
)

// session implements the protocol of one stream, without I/O: handle processes a request, nextResponse creates a
// response. It is guarded by the group's lock.
type session struct {
	opts *Options
	sotw bool // state-of-the-world variant
	// budget limits the size of the subscriptions; nil means no limit
	budget *subscriptionBudget
	// node ID of the first request; the other fields of the node are dropped, since they may be large
	id               string
	cluster          string
	subs             []subscribed  // sorted by step, then type
	subsBuf          [6]subscribed // backing array of subs: Envoy subscribes to six types
	lastNonce        uint64        // of the last nonce
	pendingEndpoints bitset        // clusters sent before the client subscribed to endpoints, by number
}

// subscribed is a subscription with the fields that each change and each ACK reads. They are stored in one slice for
// cache locality: most subscriptions have nothing to do.
type subscribed struct {
	*subscription
	table   *table
	step    step
	hasWork bool // there may be something to send, or a response without an ACK
}

func newSession(opts *Options, node *corev3.Node, sotw bool) *session {
	s := &session{opts: opts, sotw: sotw, id: node.GetId(), cluster: node.GetCluster()}
	s.subs = s.subsBuf[:0]
	return s
}

// handle processes one request. An error closes the stream.
func (s *session) handle(req request, published *state, now time.Time) (ackResult, error) {
	var none ackResult
	// Clients may repeat the node, or send only its ID.
	if n := req.node; n != nil && (n.GetId() != s.id || n.GetCluster() != s.cluster) {
		return none, refuse(reasonNode, codes.InvalidArgument, "the node differs from that of the first request")
	}
	if err := req.check(s.opts); err != nil {
		return none, err
	}
	sub := s.subscription(req.typeURL)
	known := sub != nil
	if !known {
		if len(s.subs) == s.opts.MaxTypesPerStream {
			return none, refuse(reasonResourceTypes, codes.ResourceExhausted,
				"more than %d resource types on one stream", s.opts.MaxTypesPerStream)
		}
		sub = s.addSubscription(req.typeURL, published)
	}
	if sub.staleNonce(&req) {
		return ackResult{unknownNonce: true}, nil
	}
	sub.update(&req, !known, now)
	if !known && sub.step == stepEndpoints {
		if clusters := s.subscription(ClusterType); clusters != nil && len(req.versions) > 0 {
			for n := range s.pendingEndpoints.all() {
				if c := clusters.table.resource(n); c != nil {
					sub.resend(c.Name, now)
				}
			}
		}
		s.pendingEndpoints = bitset{}
	}
	if s.budget.exceeded() {
		return none, s.budget.refusal()
	}
	if sub.namedCount > s.opts.MaxNamesPerType {
		return none, tooManyNames(s.opts, sub.typeURL)
	}
	if len(sub.collections) > s.opts.MaxCollectionsPerType {
		return none, refuse(reasonResourceNames, codes.ResourceExhausted, "more than %d collections of type %s",
			s.opts.MaxCollectionsPerType, sub.typeURL)
	}
	did := sub.handleAck(&req, now)
	sub.hasWork = sub.active()
	return did, nil
}

// subscription returns the subscription to a type, or nil. The search is linear: there are few types.
func (s *session) subscription(typeURL string) *subscribed {
	step := stepOf(typeURL)
	for i := range s.subs {
		if sub := &s.subs[i]; sub.step == step && (step != stepOthers || sub.typeURL == typeURL) {
			return sub
		}
	}
	return nil
}

func (s *session) addSubscription(typeURL string, published *state) *subscribed {
	sub := newSubscription(typeURL, published.of(typeURL))
	sub.budget = s.budget
	sub.budget.add(typeCost + len(typeURL))
	if s.sotw {
		sub.sotw = &sotwState{}
	}
	s.subs = append(s.subs, subscribed{subscription: sub, table: sub.table, step: sub.step, hasWork: true})
	slices.SortFunc(s.subs, func(a, b subscribed) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.typeURL, b.typeURL))
	})
	return s.subscription(typeURL)
}

// update applies the subscription changes of a request, until the budget is exceeded.
func (s *subscription) update(req *request, first bool, now time.Time) {
	if s.sotw != nil {
		s.setNames(req.sotwNames, first, now)
		return
	}
	if first {
		// A client that already has all resources gets a response, too: Envoy resets its reconnect backoff at the
		// first response.
		s.mustRespond = len(req.subscribe) == 0
		if s.mustRespond && wildcardByDefault(s.typeURL) {
			s.setWildcard(now)
		}
	}
	for _, name := range req.unsubscribe {
		if c, is := parseCollection(name); is {
			s.dropCollection(c)
		} else if name == "*" {
			s.dropWildcard()
		} else {
			s.unsubscribe(name, now)
		}
	}
	for _, name := range req.subscribe {
		if s.budget.exceeded() {
			return
		}
		if c, is := parseCollection(name); is {
			s.addCollection(c, now)
		} else if name == "*" {
			s.setWildcard(now)
		} else {
			s.subscribe(name, now)
		}
	}
	if first { // initial_resource_versions is only valid in the first request
		for _, v := range req.versions {
			if s.budget.exceeded() {
				return
			}
			s.setInitialVersion(v.name, v.version, now)
		}
	}
}

// markChanged marks a changed resource, and reports whether the client subscribes to it.
func (s *session) markChanged(c change, since time.Time) bool {
	for i := range s.subs {
		if sub := &s.subs[i]; sub.table == c.table {
			cares := sub.subscription.markChanged(c, since)
			sub.hasWork = sub.hasWork || cares
			return cares
		}
	}
	return false
}

// hasPending reports whether there may be something to send, now or later.
func (s *session) hasPending() bool {
	return slices.ContainsFunc(s.subs, func(sub subscribed) bool {
		return sub.hasWork &&
			sub.subscription.hasPending()
	})
}

// close releases the references of the session to the published *state.
func (s *session) close(published *state) {
	for _, sub := range s.subs {
		sub.subscription.close()
		s.budget.add(-typeCost - len(sub.typeURL))
		published.release(sub.typeURL)
	}
	s.subs = nil
	clear(s.subsBuf[:]) // a worker may keep the closed stream, which must not keep the tables
}

// nextResponse returns the response to send now. If the next response has to wait for an ACK, it returns nil and the
// longest wait. A zero wait means that nothing is pending.
func (s *session) nextResponse(now time.Time) (*response, time.Duration) {
	var hold time.Duration // wait for responses of step at; other types of that step do not wait for each other
	at := stepCount
	for i := range s.subs {
		sub := &s.subs[i]
		if !sub.hasWork {
			continue
		}
		urgent := sub.step > at
		if urgent && (at != stepClusters || sub.step != stepEndpoints) {
			return nil, hold
		}
		todo := sub.pending()
		sub.hasWork = sub.active()
		if urgent {
			todo = sub.filterWarming(todo)
		}
		if len(todo) == 0 && (urgent || !sub.mustRespond) {
			continue
		}
		wait := s.ackWait(sub.step, sub.subscription, now)
		if wait == 0 {
			return s.buildResponse(sub, todo, now), 0
		}
		numberLists.put(todo)
		hold, at = max(hold, wait), sub.step
	}
	if hold > 0 {
		return nil, hold
	}
	for i := range s.subs { // ascending: clusters before endpoints
		sub := &s.subs[i]
		if !sub.hasWork || sub.removals.len() == 0 {
			continue
		}
		if wait := s.ackWait(sub.removalStep, sub.subscription, now); wait > 0 {
			return nil, wait
		}
		return s.buildResponse(sub, sub.pendingRemovals(), now), 0
	}
	return nil, 0
}

// ackWait returns how long a response of a step must wait for the ACKs of its own type and of all earlier steps.
// Endpoints do not wait for the ACK of their clusters: Envoy sends it after it has received the endpoints.
func (s *session) ackWait(st step, sub *subscription, now time.Time) time.Duration {
	var longest time.Duration
	for i := range s.subs {
		other := &s.subs[i]
		if !other.hasWork || other.subscription != sub &&
			(other.step >= st || st == stepEndpoints && other.step == stepClusters) {
			continue
		}
		if until, ok := other.ackDeadline(s.opts.AckTimeout); ok {
			longest = max(longest, until.Sub(now))
		}
	}
	return longest
}

// buildResponse creates a response with resources of a type, and releases the list of their numbers.
func (s *session) buildResponse(sub *subscribed, todo []uint32, now time.Time) *response {
	s.lastNonce++
	out := responsePool.Get().(*response)
	out.typeURL, out.nonce, out.version, out.sotw = sub.typeURL, strconv.FormatUint(s.lastNonce, 10),
		sub.table.version(), s.sotw
	out.reserve(len(todo))
	sub.fill(todo, s.opts.MaxResponseSize, out)
	if sub.sotw != nil {
		sub.sotw.nonce = out.nonce
	}
	sub.mustRespond = false
	out.afterAckTimeout = len(sub.inflight) > 0
	if sub.step == stepClusters {
		s.resendEndpoints(sub.table, todo[:len(out.changed)+len(out.removed)], now)
	}
	sub.sentVersion = out.version
	sub.track(inflightResponse{nonce: out.nonce, version: out.version, resources: out.changed, list: out.list,
		changedAt: sub.since, sentAt: now})
	sub.hasWork = true
	numberLists.put(todo)
	return out
}

// resendEndpoints resends the endpoints of changed clusters. A client that receives a new version of a cluster warms
// it, and waits for its endpoints without a new request, since it is subscribed to them already. If the client has
// not subscribed to endpoints yet, the clusters are remembered until it does: it may say which endpoints it has.
func (s *session) resendEndpoints(clusters *table, sent []uint32, now time.Time) {
	endpoints := s.subscription(EndpointType)
	for _, n := range sent {
		switch c := clusters.resource(n); {
		case c == nil: // removed
		case endpoints == nil:
			s.pendingEndpoints.add(n)
		default:
			endpoints.resend(c.Name, now)
		}
	}
	if endpoints != nil {
		endpoints.hasWork = endpoints.active()
	}
}
