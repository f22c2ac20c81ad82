package cache_test

import (
	"testing"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
)

// A list that finds an object with another uid means that the earlier object was deleted.
func TestRelistOfARecreatedObjectIsADeletionAndAnAddition(t *testing.T) {
	f := twoPods(t)
	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next := f.follow(cache.WatchOptions{ResourceVersion: l.ResourceVersion})
	m := f.members[0]
	m.Set(membertest.Faults{Unreachable: true})
	m.Delete(podPath, "default", "a")
	again := pod("a", "n7")
	again["metadata"].(membertest.Object)["uid"] = "another"
	m.Put(podPath, again)
	m.Compact()
	m.Set(membertest.Faults{})
	for _, want := range []string{"DELETED a", "ADDED a"} {
		if got, e := next(); got != want {
			t.Errorf("%s: %s; want %s", got, e.AppendJSON(nil), want)
		}
	}
	f.synced()
	if s := f.Status()[0]; s.Objects != 1 {
		t.Errorf("status has %d objects", s.Objects)
	}
	old, err := f.List(t.Context(), pods, cache.ListOptions{
		ResourceVersion: l.ResourceVersion, ResourceVersionMatch: "Exact",
	})
	if err != nil {
		t.Fatal(err)
	}
	for o := range old.All() {
		if o.Name() == "a" && string(o.AppendJSON(nil)) != firstOf(l) {
			t.Errorf("the earlier state has %s", o.AppendJSON(nil))
		}
	}
}

// firstOf returns the first object of a list.
func firstOf(l *cache.List) string {
	for o := range l.All() {
		return string(o.AppendJSON(nil))
	}
	return ""
}
