package sidecar

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"anymesh.dev/anymesh/model"
)

func keys(names ...string) (out []model.Key) {
	for _, name := range names {
		out = append(out, model.Key{Mesh: "m", Name: name})
	}
	return out
}

// next returns the changes that wait for the subscriber.
func next(t *testing.T, s *Subscription) Changes {
	t.Helper()
	c, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// nothing fails the test if changes wait for the subscriber.
func nothing(t *testing.T, s *Subscription) {
	t.Helper()
	select {
	case <-s.wake:
		t.Errorf("got %+v, want no changes", s.take())
	default:
	}
}

// Many changes are one, with each item once and in order.
func TestSubscriptionCoalescesChanges(t *testing.T) {
	b := &Broker{}
	s := b.Subscribe()
	nothing(t, s) // the mesh is not complete
	b.Publish(Changes{All: true})
	if c := next(t, s); !reflect.DeepEqual(c, Changes{All: true}) {
		t.Errorf("got %+v, want all", c)
	}
	b.Publish(Changes{})
	nothing(t, s)
	b.Publish(Changes{Workloads: keys("b"), Destinations: keys("e")})
	b.Publish(Changes{Workloads: keys("a", "b"), Destinations: keys("d", "e")})
	want := Changes{Workloads: keys("a", "b"), Destinations: keys("d", "e")}
	if c := next(t, s); !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
	}
	nothing(t, s)
	if c := next(t, b.Subscribe()); !c.All {
		t.Errorf("the first changes of a later subscription are %+v, want all", c)
	}
}

// A reader that is slow keeps a bounded number of items.
func TestSubscriptionIsBounded(t *testing.T) {
	b := &Broker{}
	b.Publish(Changes{All: true})
	s := b.Subscribe()
	next(t, s)
	for i := range maxChanges {
		b.Publish(Changes{Workloads: keys(fmt.Sprint(i))})
	}
	if c := next(t, s); c.All || len(c.Workloads) != maxChanges {
		t.Errorf("got all %v and %d workloads, want %d", c.All, len(c.Workloads), maxChanges)
	}
	for i := range maxChanges + 10 {
		b.Publish(Changes{Destinations: keys(fmt.Sprint(i))})
	}
	if held := len(s.destinations); held > maxChanges {
		t.Errorf("the subscription holds %d items, want at most %d", held, maxChanges)
	}
	if c := next(t, s); !reflect.DeepEqual(c, Changes{All: true}) {
		t.Errorf("got %+v, want all", c)
	}
}

func TestUnsubscribe(t *testing.T) {
	b := &Broker{}
	s, other := b.Subscribe(), b.Subscribe()
	s.Unsubscribe()
	s.Unsubscribe()
	if _, err := s.Next(t.Context()); !errors.Is(err, ErrUnsubscribed) {
		t.Errorf("got error %v", err)
	}
	if !b.Subscribed() {
		t.Error("the other subscription has ended")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := other.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	other.Unsubscribe()
	if b.Subscribed() {
		t.Error("there is a subscription left")
	}
}
