package sidecar

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"anymesh.dev/anymesh/model"
)

// maxChanges limits the items of Changes that wait for a subscriber. With more, its next Changes are Changes.All.
const maxChanges = 4096

// ErrUnsubscribed is the error of Subscription.Next after Unsubscribe.
var ErrUnsubscribed = errors.New("sidecar: the subscription has ended")

// Changes are changes of what a Catalog returns.
type Changes struct {
	// All is true if everything may have changed: for the first Changes of a subscription, and if there are more than
	// 4096 items. The lists are then empty.
	All bool
	// Workloads are those whose view changed, or that have no view or no sidecars of the driver any more, sorted.
	Workloads []model.Key
	// Destinations are those of any workload whose endpoints or settings changed, sorted.
	Destinations []model.Key
}

// Broker notifies subscribers of changes of a Catalog. It is safe for concurrent use. Its zero value has no subscribers
// and no mesh.
type Broker struct {
	subscribers atomic.Int32
	mu          sync.Mutex
	// published is true after the first Publish: the mesh is complete.
	published bool
	all       map[*Subscription]struct{}
}

// Subscribed reports whether there are subscribers.
func (b *Broker) Subscribed() bool { return b.subscribers.Load() > 0 }

// Publish notifies the subscribers. It does not wait for them. The control plane calls it after each change of the
// mesh, with All when the mesh is complete for the first time. The lists of c need no order.
func (b *Broker) Publish(c Changes) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.published = true
	for s := range b.all {
		s.add(c)
	}
}

// Subscribe returns a subscription for one reader. The first Changes are Changes.All: at once, or when the mesh is
// complete for the first time.
func (b *Broker) Subscribe() *Subscription {
	s := &Subscription{
		broker: b, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		workloads: map[model.Key]struct{}{}, destinations: map[model.Key]struct{}{},
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[*Subscription]struct{}{}
	}
	b.all[s] = struct{}{}
	b.subscribers.Add(1)
	if b.published {
		s.add(Changes{All: true})
	}
	return s
}

// Subscription collects changes until its reader takes them: a slow reader gets many changes as one.
type Subscription struct {
	broker *Broker
	// wake has a value if there are changes.
	wake  chan struct{}
	ended chan struct{}

	mu                      sync.Mutex
	everything              bool
	workloads, destinations map[model.Key]struct{}
}

// Next returns the changes since the previous call, and waits if there are none. What the Catalog returns afterwards
// has at least these changes. The error is that of the context, or ErrUnsubscribed.
func (s *Subscription) Next(ctx context.Context) (Changes, error) {
	select {
	case <-s.wake:
		return s.take(), nil
	default:
	}
	select {
	case <-ctx.Done():
		return Changes{}, ctx.Err()
	case <-s.ended:
		return Changes{}, ErrUnsubscribed
	case <-s.wake:
		return s.take(), nil
	}
}

// Unsubscribe ends the subscription. It may be called more than once.
func (s *Subscription) Unsubscribe() {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	if _, is := s.broker.all[s]; is {
		delete(s.broker.all, s)
		s.broker.subscribers.Add(-1)
		close(s.ended)
	}
}

func (s *Subscription) add(c Changes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range c.Workloads {
		s.workloads[key] = struct{}{}
	}
	for _, key := range c.Destinations {
		s.destinations[key] = struct{}{}
	}
	if s.everything = s.everything || c.All || len(s.workloads)+len(s.destinations) > maxChanges; s.everything {
		clear(s.workloads)
		clear(s.destinations)
	}
	if s.everything || len(s.workloads)+len(s.destinations) > 0 {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

func (s *Subscription) take() Changes {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := Changes{All: s.everything, Workloads: sorted(s.workloads), Destinations: sorted(s.destinations)}
	s.everything = false
	clear(s.workloads)
	clear(s.destinations)
	return c
}

func sorted(keys map[model.Key]struct{}) []model.Key {
	return slices.SortedFunc(maps.Keys(keys), model.Key.Compare)
}
