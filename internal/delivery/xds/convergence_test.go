package xds

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

func published(s state, typeURL, name string) *Resource {
	if t := s.tables[typeURL]; t != nil {
		return t.published(name)
	}
	return nil
}

// After any sequence of publishes, subscription changes, late ACKs and reconnects, the client has the published
// resources that it subscribes to.
func TestClientConverges(t *testing.T) {
	types := []string{ClusterType, EndpointType, ListenerType, ScopeType, RouteType, SecretType, runtimeType}
	names := []string{"a", "b", "c", "xdstp://x/d", "xdstp://x/e"}
	many := []string{"*", "xdstp://x/*"}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		pick := func(from []string) string { return from[rng.IntN(len(from))] }
		b := newBench(t)
		switch seed % 3 {
		case 1: // all resources are shared
			b.shares = func(*Resource) bool { return true }
		case 2: // some are, and at times they are others
			b.shares = func(*Resource) bool { return rng.IntN(2) == 0 }
			b.anew = func() bool { return rng.IntN(4) == 0 }
		}
		c := newModelClient()
		var unanswered []*discoveryv3.DeltaDiscoveryResponse
		answer := func() {
			for _, r := range unanswered {
				b.request(r.GetTypeUrl(), func(q *discoveryv3.DeltaDiscoveryRequest) { q.ResponseNonce = r.GetNonce() })
			}
			unanswered = nil
		}
		ask := func(typeURL string, change func(*discoveryv3.DeltaDiscoveryRequest)) {
			known := b.subscription(typeURL) != nil
			b.request(typeURL, func(r *discoveryv3.DeltaDiscoveryRequest) { change(r); c.ask(r, !known) })
		}
		for range 60 {
			typeURL := pick(types)
			switch rng.IntN(8) {
			case 0, 1: // a new snapshot, similar to the old one
				var all []*Resource
				for _, ty := range types {
					for _, n := range names {
						if r := published(b.published, ty, n); r != nil && rng.IntN(5) > 0 {
							all = append(all, r)
						} else if rng.IntN(3) == 0 {
							all = append(all, text(ty, n, pick(names)))
						}
					}
				}
				b.publish(all...)
			case 2, 3:
				ask(typeURL, func(r *discoveryv3.DeltaDiscoveryRequest) {
					r.ResourceNamesSubscribe = []string{pick(append(names, many...)), pick(names)}
				})
			case 4:
				ask(typeURL, func(r *discoveryv3.DeltaDiscoveryRequest) {
					r.ResourceNamesUnsubscribe = []string{pick(append(names, many...))}
				})
			case 5, 6:
				if r := b.send(); r != nil {
					c.apply(r)
					unanswered = append(unanswered, r)
				}
				if rng.IntN(2) == 0 {
					answer()
				}
			case 7: // the stream breaks, drops unanswered responses, and reconnects
				if rng.IntN(3) > 0 {
					continue
				}
				unanswered = nil
				b.session.close(&b.published)
				b.session = newSession(b.opts, nil, false)
				for ty, m := range c.types {
					req := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: ty, InitialResourceVersions: m.has}
					for n := range m.names {
						req.ResourceNamesSubscribe = append(req.ResourceNamesSubscribe, n)
					}
					if m.wildcard {
						req.ResourceNamesSubscribe = append(req.ResourceNamesSubscribe, "*")
					}
					if len(req.GetResourceNamesSubscribe()) == 0 {
						delete(c.types, ty) // no subscription of this type is left
						continue
					}
					m.absent = map[string]bool{}
					if _, err := b.handle(deltaRequest(req), &b.published, b.now); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		answer()
		for r := b.send(); r != nil; r = b.send() {
			c.apply(r)
			b.ack(r)
		}
		for ty, m := range c.types {
			want := m.wants(b.published.tables[ty])
			if len(want) != len(m.has) {
				t.Fatalf("seed %d, %s: client has %v, want %v", seed, typeLabel(ty), m.has, want)
			}
			for n, v := range want {
				if m.has[n] != v {
					t.Fatalf("seed %d, %s %q: client has %q, want %q", seed, typeLabel(ty), n, m.has[n], v)
				}
			}
			for n := range m.names {
				if _, there := want[n]; !there && !m.absent[n] && !strings.HasSuffix(n, "*") {
					t.Fatalf("seed %d, %s: no removal of %q, which does not exist", seed, typeLabel(ty), n)
				}
			}
		}
	}
}

// Clients of several keys subscribe at random while other goroutines publish. In the end, each has the resources
// published for its key.
func TestClientsConvergeOverNetwork(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{MaxStreamsPerIdentity: 100})
	types := []string{ClusterType, EndpointType, ListenerType, RouteType}
	keys := []string{"blue", "red"}
	var clients []*deltaClient
	var wg sync.WaitGroup
	for i := range 6 {
		c := r.connect(t, keys[i%2])
		clients = append(clients, c)
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 2))
			for range 60 {
				req := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: types[rng.IntN(4)]}
				for range rng.IntN(3) {
					req.ResourceNamesSubscribe = append(req.ResourceNamesSubscribe, string(rune('a'+rng.IntN(8))))
				}
				if rng.IntN(3) == 0 {
					req.ResourceNamesUnsubscribe = append(req.ResourceNamesUnsubscribe, string(rune('a'+rng.IntN(8))))
				}
				c.ask(req)
			}
		})
	}
	common := shared(t)
	for k, key := range keys {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(k), 3))
			for range 100 {
				all, shares := someOf(rng, types, "efgh"), common
				if rng.IntN(4) == 0 {
					shares, all = shared(t, all...), nil
				}
				s, err := shares.With(all...)
				if err != nil {
					t.Error(err)
					return
				}
				r.Publish(key, s, time.Time{})
			}
		})
	}
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(7, 3))
		for range 200 {
			u := &Update{Changed: someOf(rng, types, "abcd")}
			for _, one := range someOf(rng, types, "abcd") {
				u.Removed = append(u.Removed, Ref{one.TypeURL, one.Name})
			}
			r.Update(common, u, time.Time{})
		}
	})
	wg.Wait()
	for i, c := range clients {
		for _, ty := range types {
			eventually(t, fmt.Sprintf("client %d has its resources of %s", i, typeLabel(ty)), func() bool {
				g := r.groups.get(keys[i%2])
				g.mu.Lock()
				c.mu.Lock()
				defer g.mu.Unlock()
				defer c.mu.Unlock()
				return maps.Equal(c.model.of(ty).wants(g.state.tables[ty]), c.model.of(ty).has)
			})
		}
	}
}

// someOf returns resources of the types with some of the names.
func someOf(rng *rand.Rand, types []string, names string) (all []*Resource) {
	for _, ty := range types {
		for _, n := range names {
			if rng.IntN(2) == 0 {
				all = append(all, text(ty, string(n), fmt.Sprint(rng.IntN(3))))
			}
		}
	}
	return all
}
