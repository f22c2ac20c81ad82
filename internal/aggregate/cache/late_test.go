package cache_test

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
)

// TestNothingWaitsForAClusterThatJoinsLater guards all clients against a cluster that joins and does not answer, and
// that has its objects in lists and open watches when it does.
func TestNothingWaitsForAClusterThatJoinsLater(t *testing.T) {
	options := fast
	options.JoinGrace = time.Hour
	f := newFleet(t, 1, options)
	f.members[0].Put(podPath, pod("a", "n"))
	f.synced()
	next := f.follow(cache.WatchOptions{})
	if got, _ := next(); got != "ADDED a" {
		t.Fatal(got)
	}
	f.members = append(f.members, membertest.New())
	t.Cleanup(f.members[1].Close)
	f.members[1].Put(podPath, pod("b", "n"))
	f.members[1].Set(membertest.Faults{Unreachable: true})
	f.joined, f.identities = append(f.joined, true), append(f.identities, "uid-2")
	f.late = map[int]bool{1: true}
	f.configure()

	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	if got := content(t, l, err); got != "default/a@c1" || fmt.Sprint(l.Missing) != "[c2]" {
		t.Errorf("list has %s without %v", got, l.Missing)
	}
	if got, _ := f.follow(cache.WatchOptions{})(); got != "ADDED a" {
		t.Errorf("a watch from the current objects: %s", got)
	}
	if _, _, err := f.Get(t.Context(), pods, "default", "b", cache.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("an object that no cluster has: %v", err)
	}
	for _, s := range f.Status() {
		if late := s.Cluster == "c2"; s.Late != late || s.Awaited {
			t.Errorf("status %+v", s)
		}
	}
	f.late = nil // It counts when the kind of the cluster is new: lists that went on do not begin to wait.
	f.configure()
	if _, err := f.List(t.Context(), pods, cache.ListOptions{}); err != nil {
		t.Error(err)
	}
	f.members[1].Set(membertest.Faults{})
	if got, _ := next(); got != "ADDED b" {
		t.Errorf("the watch that was open: %s", got)
	}
	f.synced()
}
