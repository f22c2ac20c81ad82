package cache_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
	"anymesh.dev/anymesh/internal/aggregate/version"
)

// content has namespace/name@cluster of each object of a list.
func content(t *testing.T, l *cache.List, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for o := range l.All() {
		all = append(all, o.Namespace()+"/"+o.Name()+"@"+o.Cluster())
	}
	return strings.Join(all, " ")
}

func TestObjectsOfAnUnreachableClusterAreDroppedAfterTheGracePeriod(t *testing.T) {
	options := fast
	options.Grace = 200 * time.Millisecond
	f := newFleet(t, 2, options)
	f.members[0].Put(podPath, pod("a", "n1"))
	f.members[1].Put(podPath, pod("b", "n2"))
	f.synced()
	before, err := f.List(t.Context(), pods, cache.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next := f.follow(cache.WatchOptions{ResourceVersion: before.ResourceVersion})
	f.members[1].Set(membertest.Faults{Unreachable: true})
	if got, e := next(); got != "ERROR" || e.Status().Code != 410 {
		t.Errorf("%s: %s", got, e.AppendJSON(nil))
	}
	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	if got := content(t, l, err); got != "default/a@c1" || fmt.Sprint(l.Missing) != "[c2]" {
		t.Errorf("list has %s, and %v are missing", got, l.Missing)
	}
	if s := f.Status()[1]; !s.Expired || s.Synced || s.Objects != 0 || s.Bytes != 0 {
		t.Errorf("%+v", s)
	}
	_, err = f.Watch(t.Context(), pods, cache.WatchOptions{ResourceVersion: before.ResourceVersion})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("watch from a version with the dropped objects: %v", err)
	}
	f.members[1].Set(membertest.Faults{})
	f.synced()
	if s := f.Status()[1]; s.Expired {
		t.Errorf("%+v", s)
	}
}

func TestWaitReturnsWhenTheCacheHasAWrite(t *testing.T) {
	f := twoPods(t)
	at := f.members[0].Put(podPath, pod("w", "n1"))
	if err := f.Wait(t.Context(), pods, "c1", at); err != nil {
		t.Fatal(err)
	}
	if o, _, err := f.Get(t.Context(), pods, "default", "w", cache.GetOptions{}); err != nil || o.MemberVersion() != at {
		t.Errorf("version %d, not %d: %v", o.MemberVersion(), at, err)
	}
	if err := f.Wait(t.Context(), pods, "c9", at); !apierrors.IsResourceExpired(err) {
		t.Errorf("wait for a cluster that is no member: %v", err)
	}
	if err := f.Wait(t.Context(), pods.GroupVersion().WithResource("nodes"), "c1", at); !apierrors.IsInternalError(err) {
		t.Errorf("wait for a kind that is not cached: %v", err)
	}
}

func TestContinueTokensThatCannotBeServed(t *testing.T) {
	f := twoPods(t)
	l, err := f.List(t.Context(), pods, cache.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []cache.ListOptions{
		{Continue: "%%%"}, {Continue: "e30"}, {Continue: l.Continue[:len(l.Continue)/2]},
		{Continue: l.Continue, ResourceVersion: l.ResourceVersion},
	} {
		if _, err := f.List(t.Context(), pods, o); !apierrors.IsBadRequest(err) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	f.identities[1] = "rebuilt"
	f.configure()
	_, err = f.List(t.Context(), pods, cache.ListOptions{Limit: 1, Continue: l.Continue})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("page after a cluster was rebuilt: %v", err)
	}
}

func TestSelectedClustersLimitObjectsVersionsAndEvents(t *testing.T) {
	f := twoPods(t)
	only := cache.Selection{Clusters: []string{"c2"}}
	l, err := f.List(t.Context(), pods, cache.ListOptions{Selection: only})
	if got := content(t, l, err); got != "default/b@c2" {
		t.Error(got)
	}
	v, err := version.Parse(l.ResourceVersion)
	if err != nil || len(v.Components) != 1 || v.Components[0].Cluster != "c2" {
		t.Errorf("%+v, %v", v, err)
	}
	next := f.follow(cache.WatchOptions{Selection: only, ResourceVersion: l.ResourceVersion})
	at := f.members[0].Put(podPath, pod("x", "n1"))
	if err := f.Wait(t.Context(), pods, "c1", at); err != nil {
		t.Fatal(err)
	}
	f.members[1].Put(podPath, pod("y", "n2"))
	if got, _ := next(); got != "ADDED y" {
		t.Error(got)
	}
	_, _, err = f.Get(t.Context(), pods, "default", "a", cache.GetOptions{Clusters: only.Clusters})
	if !apierrors.IsNotFound(err) {
		t.Errorf("GET of an object of another cluster: %v", err)
	}
}

// An exact list has an earlier state without a kept snapshot: changes in the window are undone.
func TestExactListUndoesLaterChanges(t *testing.T) {
	f := twoPods(t)
	before, err := f.List(t.Context(), pods, cache.ListOptions{})
	want := content(t, before, err)
	f.members[0].Put(podPath, pod("a", "n9"))
	f.members[0].Put(podPath, pod("c", "n1"))
	f.members[0].Delete(podPath, "default", "a")
	f.members[1].Delete(podPath, "default", "b")
	f.synced()
	l, err := f.List(t.Context(), pods, cache.ListOptions{
		ResourceVersion: before.ResourceVersion, ResourceVersionMatch: "Exact",
	})
	if got := content(t, l, err); got != want || l.ResourceVersion != before.ResourceVersion {
		t.Errorf("%s at %s; want %s at %s", got, l.ResourceVersion, want, before.ResourceVersion)
	}
	if firstOf(l) != firstOf(before) {
		t.Errorf("%s\n%s", firstOf(l), firstOf(before))
	}
}

func TestScopeOfSeveralNamespaces(t *testing.T) {
	f := newFleet(t, 1, fast)
	put := func(namespace, name string) uint64 {
		o := pod(name, "n1")
		o["metadata"].(membertest.Object)["namespace"] = namespace
		return f.members[0].Put(podPath, o)
	}
	put("x", "a")
	put("y", "b")
	put("z", "c")
	f.synced()
	if err := f.SetKinds([]cache.Kind{{
		Resource: pods, Kind: "Pod", ListKind: "PodList", Namespaced: true,
		Scopes: []cache.Scope{{Cluster: "c1", Namespaces: []string{"x", "z"}}},
	}}); err != nil {
		t.Fatal(err)
	}
	put("y", "d")
	at := put("z", "e")
	if err := f.Wait(t.Context(), pods, "c1", at); err != nil {
		t.Fatal(err)
	}
	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	if got := content(t, l, err); got != "x/a@c1 z/c@c1 z/e@c1" {
		t.Error(got)
	}
}
