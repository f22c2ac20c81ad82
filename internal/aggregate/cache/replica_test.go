package cache_test

import (
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
)

// TestVersionsOfOtherNamespacesAreExpired guards against a client that reconnects after a registry began to select
// other namespaces of a cluster without changes: the objects differ, and the version of the cluster does not.
func TestVersionsOfOtherNamespacesAreExpired(t *testing.T) {
	f := newFleet(t, 2, fast)
	for _, namespace := range []string{"default", "other"} {
		o := pod("a", "n1")
		o["metadata"].(membertest.Object)["namespace"] = namespace
		f.members[0].Put(podPath, o)
	}
	f.synced()
	before, err := f.List(t.Context(), pods, cache.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, namespaces := range [][]string{{"default"}, {"default", "other"}, {"other"}, nil} {
		f.scopes[0] = namespaces
		f.configure()
		f.synced()
		_, err := f.Watch(t.Context(), pods, cache.WatchOptions{ResourceVersion: before.ResourceVersion})
		if !apierrors.IsResourceExpired(err) && (namespaces != nil || err != nil) {
			t.Errorf("a watch, with the namespaces %v, from the version of others: %v", namespaces, err)
		}
		after, err := f.List(t.Context(), pods, cache.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for o := range after.All() {
			_, _, err := f.Get(t.Context(), pods, o.Namespace(), o.Name(), cache.GetOptions{ResourceVersion: o.ResourceVersion()})
			if err != nil {
				t.Errorf("GET of the version of the object: %v", err)
			}
		}
	}
}

// TestClusterThatLeavesBeforeItsFirstList guards against objects that stay with clients that moved to a replica which
// never reached the cluster.
func TestClusterThatLeavesBeforeItsFirstList(t *testing.T) {
	expires := fast
	expires.Grace = time.Millisecond
	for name, c := range map[string]struct {
		options cache.Options
		change  func(*fleet)
	}{
		"leaves":           {fast, func(f *fleet) { f.joined[1] = false }},
		"is rebuilt":       {fast, func(f *fleet) { f.identities[1] = "rebuilt" }},
		"other namespaces": {fast, func(f *fleet) { f.scopes[1] = []string{"default"} }},
		"is away too long": {expires, func(*fleet) {}},
	} {
		t.Run(name, func(t *testing.T) {
			f := twoPods(t)
			l, err := f.List(t.Context(), pods, cache.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			f.members[1].Set(membertest.Faults{Silent: true})
			other := f.another(c.options)
			other.configure()
			next := other.follow(cache.WatchOptions{ResourceVersion: l.ResourceVersion})
			c.change(other)
			other.configure()
			f.members[1].Set(membertest.Faults{Unreachable: true})
			if got, e := next(); got != "ERROR" || e.Status().Code != http.StatusGone {
				t.Errorf("%s: %s", got, e.AppendJSON(nil))
			}
		})
	}
}

// TestListsWithoutClustersHaveAVersion guards against informers that watch without a version after such a list: they
// keep objects that are deleted while they reconnect.
func TestListsWithoutClustersHaveAVersion(t *testing.T) {
	f := newFleet(t, 1, fast)
	f.joined[0] = false
	f.configure()
	f.members[0].Put(podPath, pod("a", "n1"))
	yes := true
	w := f.follow(cache.WatchOptions{
		SendInitialEvents: &yes, ResourceVersionMatch: "NotOlderThan", AllowWatchBookmarks: true,
	})
	_, end := w()
	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	if err != nil || l.ResourceVersion == "" || end.ResourceVersion != l.ResourceVersion {
		t.Fatalf("the list has version %q, and the bookmark %q: %v", l.ResourceVersion, end.ResourceVersion, err)
	}
	for _, o := range []cache.ListOptions{
		{ResourceVersion: l.ResourceVersion}, {ResourceVersion: l.ResourceVersion, ResourceVersionMatch: "Exact"},
	} {
		again, err := f.List(t.Context(), pods, o)
		if err != nil || again.ResourceVersion != l.ResourceVersion {
			t.Errorf("a list from the version: %v", err)
		}
	}
	next := f.follow(cache.WatchOptions{ResourceVersion: l.ResourceVersion})
	f.joined[0] = true
	f.configure()
	if got, _ := next(); got != "ADDED a" {
		t.Errorf("when the first cluster joins, the watch gets %s", got)
	}
	_, err = f.Watch(t.Context(), pods, cache.WatchOptions{ResourceVersion: l.ResourceVersion})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from the version, with a cluster: %v", err)
	}
}
