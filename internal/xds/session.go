package xds

import (
	"cmp"
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
	order  []*subscription     // by step, then type
	serial uint64              // of the last nonce
	cold   map[string]struct{} // clusters sent before the client has asked for endpoints
}

func newSession(opts *Options, node *corev3.Node) *session {
	return &session{opts: opts, node: node, subs: map[string]*subscription{}}
}

// reaction is what a request says about an earlier response.
type reaction struct {
	acked, rejected, unknownNonce bool
	flight                        flight
	message                       string
	refuses                       []string // names of resources that it refuses, in the version that is published
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
		sub = newSubscription(req.GetTypeUrl(), published.of(req.GetTypeUrl()))
		s.subs[sub.typeURL] = sub
		s.order = append(s.order, sub)
		slices.SortFunc(s.order, func(a, b *subscription) int {
			return cmp.Or(cmp.Compare(stepOf(a.typeURL), stepOf(b.typeURL)), cmp.Compare(a.typeURL, b.typeURL))
		})
	}
	sub.request(req, !known, now)
	if !known && sub.typeURL == EndpointType {
		for name := range s.cold {
			sub.again(name, now)
		}
		s.cold = nil
	}
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

// request takes in the subscription changes of a request.
func (s *subscription) request(req *discoveryv3.DeltaDiscoveryRequest, first bool, now time.Time) {
	if first {
		s.owed = len(req.GetResourceNamesSubscribe()) == 0
		if s.owed && wildcardByDefault(s.typeURL) {
			s.setWildcard(now)
		}
	}
	for _, name := range req.GetResourceNamesUnsubscribe() {
		if name == "*" {
			s.dropWildcard()
		} else {
			s.unsubscribe(name, now)
		}
	}
	for _, name := range req.GetResourceNamesSubscribe() {
		if name == "*" {
			s.setWildcard(now)
		} else {
			s.subscribe(name, now)
		}
	}
	if first { // the field means nothing later on
		for name, version := range req.GetInitialResourceVersions() {
			s.resume(name, version, now)
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
		for _, r := range f.resources {
			delete(s.refused, r.Name)
		}
		return reaction{acked: true, flight: f, refuses: s.refusals()}
	}
	message := truncate(req.GetErrorDetail().GetMessage(), maxMessage)
	s.nack = &Nack{Time: now, Names: names(f.resources), Message: message}
	for _, r := range f.resources {
		if s.refused == nil {
			s.refused = map[string]string{}
		}
		s.refused[r.Name] = r.Version
	}
	return reaction{rejected: true, flight: f, message: message, refuses: s.refusals()}
}

// refusals forgets what was refused and is published no more, and returns the rest.
func (s *subscription) refusals() []string {
	for name, version := range s.refused {
		n, known := s.table.numbers[name]
		if !known || s.table.slots[n].resource == nil || s.table.slots[n].resource.Version != version {
			delete(s.refused, name)
		}
	}
	return slices.Sorted(maps.Keys(s.refused))
}

func names(of []*Resource) []string {
	var all []string
	for _, r := range of {
		all = append(all, r.Name)
	}
	return all
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
func (s *session) mark(c change, since time.Time) bool {
	sub := s.subs[c.typeURL]
	return sub != nil && sub.mark(c.number, since)
}

// close lets go of what the session holds in the published state.
func (s *session) close(published state) {
	for _, sub := range s.order {
		sub.close()
		published.release(sub.typeURL)
	}
	s.subs, s.order = map[string]*subscription{}, nil
}

// next returns the response to send now. If there is one to send that has to
// wait for an answer, it returns how long at most; zero means nothing to do.
func (s *session) next(now time.Time) (*response, time.Duration) {
	var held time.Duration // by responses of the step at, which others of that step need not await
	at := steps
	for _, sub := range s.order {
		st := stepOf(sub.typeURL)
		if st > at {
			return nil, held
		}
		todo := sub.settle()
		if len(todo) == 0 && !sub.owed {
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
	for _, sub := range s.order { // clusters come before endpoints here, too
		if len(sub.gone) == 0 {
			continue
		}
		if wait := s.blocked(removalStepOf(sub.typeURL), sub, now); wait > 0 {
			return nil, wait
		}
		return s.respond(sub, sub.leaving(), now), 0
	}
	return nil, 0
}

// blocked is how long a step has to wait for answers to its own type's and all
// earlier steps' responses.
func (s *session) blocked(st step, sub *subscription, now time.Time) time.Duration {
	var longest time.Duration
	for _, other := range s.order {
		if other != sub && stepOf(other.typeURL) >= st {
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
	out := &response{typeURL: sub.typeURL, nonce: strconv.FormatUint(s.serial, 10), version: sub.table.version()}
	sub.take(todo, s.opts.ResponseSize, out)
	sub.owed = false
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
	endpoints := s.subs[EndpointType]
	if endpoints == nil {
		if s.cold == nil {
			s.cold = map[string]struct{}{}
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

// nodeSize is the encoded size of a node, in bytes.
func nodeSize(n *corev3.Node) int { return proto.Size(n) }
