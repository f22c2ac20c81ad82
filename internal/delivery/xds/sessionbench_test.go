package xds

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// bench is a session with published resources and a fixed clock.
type bench struct {
	*testing.T
	*session
	published state
	now       time.Time
	// shares tells which resources are shared ones, and anew whether these are others than before. Without it, all are own
	// ones.
	shares func(*Resource) bool
	anew   func() bool
}

func newBench(t *testing.T, resources ...*Resource) *bench {
	opts := &Options{}
	opts.setDefaults()
	b := &bench{T: t, session: newSession(opts, &corev3.Node{Id: "blue"}, false), published: newState(),
		now: time.Unix(1e9, 0), anew: func() bool { return false }}
	if strings.HasPrefix(t.Name(), sharedProtocol+"/") {
		b.shares = func(*Resource) bool { return true }
	}
	b.publish(resources...)
	return b
}

func (b *bench) publish(resources ...*Resource) {
	b.Helper()
	var own, shared []*Resource
	for _, r := range resources {
		if b.shares != nil && b.shares(r) {
			shared = append(shared, r)
		} else {
			own = append(own, r)
		}
	}
	mark := func(changes []change) {
		for _, c := range changes {
			b.markChanged(c, b.now)
		}
	}
	sessions := func() []*session { return []*session{b.session} }
	next := b.published.shared
	switch {
	case b.shares == nil:
	case next == nil || b.anew():
		var err error
		if next, err = NewShared(shared...); err != nil {
			b.Fatal(err)
		}
	default:
		mark(b.published.follow(next.apply(difference(next, shared)), sessions, nil))
	}
	with, err := next.With(own...)
	if err != nil {
		b.Fatal(err)
	}
	mark(b.published.replace(with, sessions()))
}

// difference returns the update after which the shared resources are the given ones.
func difference(s *Shared, to []*Resource) *Update {
	u := &Update{Changed: to}
	for typeURL, p := range s.parts {
		for i := range p.slots {
			if r := p.resource(uint32(i)); r != nil && !slices.ContainsFunc(to, func(other *Resource) bool {
				return other.TypeURL == typeURL && other.Name == r.Name
			}) {
				u.Removed = append(u.Removed, Ref{typeURL, r.Name})
			}
		}
	}
	return u
}

func (b *bench) request(typeURL string, change func(*discoveryv3.DeltaDiscoveryRequest)) ackResult {
	b.Helper()
	req := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL}
	if change != nil {
		change(req)
	}
	did, err := b.handle(deltaRequest(req), &b.published, b.now)
	if err != nil {
		b.Fatal(err)
	}
	return did
}

func (b *bench) subscribe(typeURL string, names ...string) {
	b.Helper()
	b.request(typeURL, func(r *discoveryv3.DeltaDiscoveryRequest) { r.ResourceNamesSubscribe = names })
}

func (b *bench) unsubscribe(typeURL string, names ...string) {
	b.Helper()
	b.request(typeURL, func(r *discoveryv3.DeltaDiscoveryRequest) { r.ResourceNamesUnsubscribe = names })
}

func (b *bench) ack(r *discoveryv3.DeltaDiscoveryResponse) {
	b.Helper()
	did := b.request(r.GetTypeUrl(), func(q *discoveryv3.DeltaDiscoveryRequest) { q.ResponseNonce = r.GetNonce() })
	if !did.acked {
		b.Errorf("the ACK of %s was not recognized", summarizeDelta(r))
	}
}

// send returns the next response, or nil.
func (b *bench) send() *discoveryv3.DeltaDiscoveryResponse {
	b.Helper()
	for _, sub := range b.subs {
		if sub.active() && !sub.hasWork {
			b.Errorf("%s is active, but hasWork is false", typeLabel(sub.typeURL))
		}
	}
	r, _ := b.nextResponse(b.now)
	if r == nil {
		return nil
	}
	return wire(b, r)
}

// drain acknowledges responses until none is pending, and returns their summary.
func (b *bench) drain() string {
	b.Helper()
	var all []string
	for r := b.send(); r != nil; r = b.send() {
		all = append(all, summarizeDelta(r))
		b.ack(r)
	}
	return strings.Join(all, "; ")
}

func (b *bench) want(what, got, want string) {
	b.Helper()
	if got != want {
		b.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}
