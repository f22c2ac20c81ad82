package cache_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
)

// TestListsWaitForAClusterThatWasNotReached guards informers against the loss of a cluster's objects: a replica that
// starts while the cluster is away must not list without them.
func TestListsWaitForAClusterThatWasNotReached(t *testing.T) {
	f := newFleet(t, 2, fast)
	f.members[0].Put(podPath, pod("a", "n"))
	f.members[1].Put(podPath, pod("b", "n"))
	f.synced()
	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.members[1].Set(membertest.Faults{Unreachable: true})
	options := fast
	options.JoinGrace = time.Hour
	restarted := &fleet{
		Cache: cache.New(options), t: t, members: f.members, joined: f.joined, identities: f.identities,
		hosts: map[int]string{},
	}
	t.Cleanup(restarted.Close)
	restarted.configure()
	only := cache.Selection{Clusters: []string{"c1"}}
	eventually(t, func() error {
		l, err := restarted.List(t.Context(), pods, cache.ListOptions{Selection: only})
		if err == nil && content(t, l, err) != "default/a@c1" {
			err = errors.New("the cluster was not listed yet")
		}
		return err
	})
	yes := true
	_, list := restarted.List(t.Context(), pods, cache.ListOptions{})
	_, any := restarted.List(t.Context(), pods, cache.ListOptions{ResourceVersion: "0", Limit: 500})
	_, watch := restarted.Watch(t.Context(), pods, cache.WatchOptions{})
	_, streamed := restarted.Watch(t.Context(), pods, cache.WatchOptions{
		SendInitialEvents: &yes, ResourceVersionMatch: "NotOlderThan", AllowWatchBookmarks: true,
	})
	_, _, get := restarted.Get(t.Context(), pods, "default", "b", cache.GetOptions{})
	for name, err := range map[string]error{"list": list, "list from any": any, "watch": watch, "streamed": streamed, "get": get} {
		if !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "cluster c2") {
			t.Errorf("%s: %v", name, err)
		}
		if seconds, ok := apierrors.SuggestsClientDelay(err); name != "get" && (!ok || seconds == 0) {
			t.Errorf("%s: the client is not told when to retry", name)
		}
	}
	// A watch that goes on loses nothing.
	w, err := restarted.Watch(t.Context(), pods, cache.WatchOptions{ResourceVersion: l.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	f.members[1].Set(membertest.Faults{})
	restarted.synced()
}

// TestListsGoOnWithoutADeadCluster guards a new installation, one of whose clusters never answers.
func TestListsGoOnWithoutADeadCluster(t *testing.T) {
	options := fast
	options.JoinGrace = 300 * time.Millisecond
	f := newFleet(t, 1, options)
	f.members[0].Put(podPath, pod("a", "n"))
	f.members = append(f.members, membertest.New())
	t.Cleanup(f.members[1].Close)
	f.members[1].Set(membertest.Faults{Unreachable: true})
	f.joined, f.identities = append(f.joined, true), append(f.identities, "uid-2")
	f.configure()
	if _, err := f.List(t.Context(), pods, cache.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("before the end of the wait: %v", err)
	}
	eventually(t, func() error {
		l, err := f.List(t.Context(), pods, cache.ListOptions{})
		if err != nil {
			return err
		}
		if got := content(t, l, err); got != "default/a@c1" || fmt.Sprint(l.Missing) != "[c2]" {
			return fmt.Errorf("list has %s without %v", got, l.Missing)
		}
		return nil
	})
}

// TestInformersKeepAClusterThatANewReplicaDidNotReach moves informers to a replica that began while a cluster was away,
// and that cannot resume their watches: they list again, and must not delete the objects of the cluster.
func TestInformersKeepAClusterThatANewReplicaDidNotReach(t *testing.T) {
	f := newFleet(t, 2, fast)
	f.members[0].Put(podPath, pod("a", "n"))
	f.members[1].Put(podPath, pod("ab", "n"))
	f.synced()
	front := newFront(t, f)
	var informers []informer
	for _, v := range []view{{}, {label: "app=a"}} {
		informers = append(informers, startInformer(t, front.client(), v, true), startInformer(t, front.client(), v, false))
	}
	has := func(keys ...string) error {
		for _, i := range informers {
			got := i.store.ListKeys()
			slices.Sort(got)
			if !slices.Equal(got, keys) {
				return fmt.Errorf("informer %s has %v, want %v", i.name, got, keys)
			}
		}
		return nil
	}
	eventually(t, func() error { return has("default/a", "default/ab") })

	f.members[1].Set(membertest.Faults{Unreachable: true})
	front.point(nil)
	f.members[0].Put(podPath, pod("ac", "n")) // The new replica does not have this event.
	options := fast
	options.JoinGrace = time.Hour
	replica := f.another(options)
	replica.configure()
	eventually(t, func() error {
		_, err := replica.List(t.Context(), pods, cache.ListOptions{Selection: cache.Selection{Clusters: []string{"c1"}}})
		return err
	})
	before := front.requests.Load()
	front.point(replica)
	eventually(t, func() error {
		if n := front.requests.Load() - before; n < 12 { // A watch that is expired, and lists, of each informer.
			return fmt.Errorf("the new replica got %d requests", n)
		}
		return has("default/a", "default/ab")
	})
	f.members[1].Set(membertest.Faults{})
	eventually(t, func() error { return has("default/a", "default/ab", "default/ac") })
}
