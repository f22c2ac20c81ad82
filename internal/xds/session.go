package xds

import (
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// session is the protocol with one client, without I/O: requests go in through
// handle, responses come out of next. It is guarded by its group's lock.
type session struct {
	opts   *Options
	node   *corev3.Node // of the first request
	subs   map[string]*subscription
	serial uint64 // of the last nonce
}

func newSession(opts *Options, node *corev3.Node) *session {
	return &session{opts: opts, node: node, subs: map[string]*subscription{}}
}

// reaction is what a request says about an earlier response.
type reaction struct {
	acked, rejected, unknownNonce bool
	flight                        flight
	message                       string
}

// maxMessage bounds what is kept of a client's error text, in bytes.
const maxMessage = 4096

// handle takes in one request. An error ends the stream.
func (s *session) handle(req *discoveryv3.DeltaDiscoveryRequest, published state, now time.Time) (reaction, error) {
	var none reaction
	if req.GetNode() != nil && !sameNode(s.node, req.GetNode()) {
		return none, status.Error(codes.InvalidArgument, "the node differs from that of the first request")
	}
	if err := s.checkRequest(req); err != nil {
		return none, err
	}
	sub, known := s.subs[req.GetTypeUrl()]
	if !known {
		if len(s.subs) == s.opts.TypesPerStream {
			return none, status.Errorf(codes.ResourceExhausted, "more than %d resource types on one stream", s.opts.TypesPerStream)
		}
		sub = newSubscription(req.GetTypeUrl())
		s.subs[sub.typeURL] = sub
	}
	s.subscribe(sub, req, !known, published, now)
	if max(sub.named, len(req.GetInitialResourceVersions())) > s.opts.NamesPerType {
		return none, status.Errorf(codes.ResourceExhausted, "more than %d names of type %s", s.opts.NamesPerType, sub.typeURL)
	}
	return sub.answered(req, now), nil
}

// sameNode: clients may repeat the node, or only its ID.
func sameNode(first, later *corev3.Node) bool {
	return first.GetId() == later.GetId() && first.GetCluster() == later.GetCluster()
}

func (s *session) checkRequest(req *discoveryv3.DeltaDiscoveryRequest) error {
	if req.GetTypeUrl() == "" {
		return status.Error(codes.InvalidArgument, "type_url is empty")
	}
	if len(req.GetTypeUrl()) > s.opts.NameSize {
		return status.Errorf(codes.InvalidArgument, "type_url is over %d bytes", s.opts.NameSize)
	}
	for _, names := range [][]string{req.GetResourceNamesSubscribe(), req.GetResourceNamesUnsubscribe()} {
		for _, name := range names {
			// The decoder checks UTF-8, too; a name goes back in responses, so it has to hold.
			if name == "" || len(name) > s.opts.NameSize || !utf8.ValidString(name) {
				return status.Errorf(codes.InvalidArgument, "a resource name of %d bytes, want 1 to %d in UTF-8", len(name), s.opts.NameSize)
			}
		}
	}
	for name := range req.GetInitialResourceVersions() {
		if name == "" || len(name) > s.opts.NameSize || !utf8.ValidString(name) {
			return status.Errorf(codes.InvalidArgument, "a resource name of %d bytes, want 1 to %d in UTF-8", len(name), s.opts.NameSize)
		}
	}
	return nil
}

func (s *session) subscribe(sub *subscription, req *discoveryv3.DeltaDiscoveryRequest, first bool, published state, now time.Time) {
	if first {
		sub.owed = len(req.GetResourceNamesSubscribe()) == 0
		if sub.owed && wildcardByDefault(sub.typeURL) {
			sub.setWildcard(published[sub.typeURL], now)
		}
	}
	for _, name := range req.GetResourceNamesUnsubscribe() {
		if name == "*" {
			sub.dropWildcard()
		} else {
			sub.unsubscribe(name, now)
		}
	}
	for _, name := range req.GetResourceNamesSubscribe() {
		if name == "*" {
			sub.setWildcard(published[sub.typeURL], now)
		} else {
			sub.subscribe(name, now)
		}
	}
	if first { // the field means nothing later on
		for name, version := range req.GetInitialResourceVersions() {
			sub.resume(name, version, now)
		}
	}
}

// answered works out what a request says about the response its nonce names.
func (s *subscription) answered(req *discoveryv3.DeltaDiscoveryRequest, now time.Time) reaction {
	if req.GetResponseNonce() == "" {
		return reaction{}
	}
	f, ok := s.land(req.GetResponseNonce())
	if !ok {
		return reaction{unknownNonce: true}
	}
	if req.GetErrorDetail() == nil {
		s.ackedVersion = f.version
		return reaction{acked: true, flight: f}
	}
	message := truncate(req.GetErrorDetail().GetMessage(), maxMessage)
	s.nack = &Nack{Time: now, Names: f.names, Message: message}
	return reaction{rejected: true, flight: f, message: message}
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

// mark notes that a resource changed, and says whether the client cares.
func (s *session) mark(ref Ref, now time.Time) bool {
	sub := s.subs[ref.TypeURL]
	return sub != nil && sub.mark(ref.Name, now)
}

// next returns the response to send now. If there is one to send that has to
// wait for an answer, it returns how long at most; zero means nothing to do.
func (s *session) next(published state, now time.Time) (*response, time.Duration) {
	if !s.pending() {
		return nil, 0
	}
	work := make([][]*subscription, steps)
	names := make(map[*subscription][]string, len(s.subs))
	for _, typeURL := range slices.Sorted(maps.Keys(s.subs)) {
		sub := s.subs[typeURL]
		if names[sub] = sub.settle(published); len(names[sub]) > 0 || sub.owed {
			work[stepOf(typeURL)] = append(work[stepOf(typeURL)], sub)
		}
		if len(sub.gone) > 0 {
			work[removalStepOf(typeURL)] = append(work[removalStepOf(typeURL)], sub)
		}
	}
	for st, subs := range work {
		for _, sub := range subs {
			if wait := s.blocked(step(st), sub, now); wait > 0 {
				return nil, wait
			}
			todo := names[sub]
			if step(st) != stepOf(sub.typeURL) {
				todo = sub.leaving()
			}
			return s.respond(sub, todo, published, now), 0
		}
	}
	return nil, 0
}

func (s *session) pending() bool {
	for _, sub := range s.subs {
		if sub.owed || len(sub.dirty) > 0 || len(sub.gone) > 0 {
			return true
		}
	}
	return false
}

// blocked is how long a step has to wait for answers to its own type's and all
// earlier steps' responses.
func (s *session) blocked(st step, sub *subscription, now time.Time) time.Duration {
	var longest time.Duration
	for _, other := range s.subs {
		if other != sub && stepOf(other.typeURL) >= st {
			continue
		}
		if until, ok := other.waiting(s.opts.AckTimeout); ok {
			longest = max(longest, until.Sub(now))
		}
	}
	return longest
}

func (s *session) respond(sub *subscription, names []string, published state, now time.Time) *response {
	s.serial++
	out := &response{typeURL: sub.typeURL, nonce: strconv.FormatUint(s.serial, 10), version: published.version(sub.typeURL)}
	sub.take(names, published, s.opts.ResponseSize, out)
	sub.owed = false
	sent := make([]string, 0, len(out.changed))
	for _, r := range out.changed {
		sent = append(sent, r.Name)
	}
	sub.sentVersion = out.version
	sub.launch(flight{nonce: out.nonce, version: out.version, names: sent, changed: sub.since, sent: now})
	return out
}

// nodeSize is the encoded size of a node, in bytes.
func nodeSize(n *corev3.Node) int { return proto.Size(n) }
